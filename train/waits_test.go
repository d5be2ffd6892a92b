package train_test

import (
	"context"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// A punctual device says of every other batch that it came late, and of the
// others that they were early.
type punctual struct {
	*cuda.Device
	told *int
}

const late = 1e6 * time.Second

func (d punctual) OpenEvent() (storage.Event, error) {
	m, err := d.Device.OpenEvent()
	return punctualMark{m, d.told}, err
}

func (d punctual) ComputeStream() storage.Stream { return punctualQueue{d.Device.ComputeStream()} }

func (d punctual) OpenStream() (storage.Stream, error) {
	q, err := d.Device.OpenStream()
	return punctualQueue{q}, err
}

type punctualQueue struct{ storage.Stream }

func (q punctualQueue) Record(m storage.Event) error { return q.Stream.Record(m.(punctualMark).Event) }
func (q punctualQueue) WaitEvent(m storage.Event) error {
	return q.Stream.WaitEvent(m.(punctualMark).Event)
}

type punctualMark struct {
	storage.Event
	told *int
}

func (m punctualMark) Since(earlier storage.Event) (time.Duration, bool, error) {
	_, both, err := m.Event.Since(earlier.(punctualMark).Event)
	if !both {
		return 0, false, err
	}
	if *m.told++; *m.told%2 == 0 {
		return -late, true, err
	}
	return late, true, err
}

// TestWaitsAreTheDevices wants each batch but an epoch's first to be asked, once,
// how late it was for the device, and early ones not to make up for that.
func TestWaitsAreTheDevices(t *testing.T) {
	for schedule, ways := range map[cudatest.Schedule][]way{cudatest.Deferred: ways, cudatest.Eager: ways[1:2], cudatest.Async: ways[2:3]} {
		gpu := cudatest.Devices(t, schedule)[0]
		for _, w := range ways {
			told := 0
			run, data := onGPU(t, gpu, w, bare) // epochs of 10 steps
			run.Device = punctual{gpu, &told}
			err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnEpochEnd: func(e train.Epoch) error {
				want := 9
				if times := e.Train.Waited / late.Seconds(); told != want || times < 5 || times >= 5.001 { // it waited for the first batch, too
					t.Errorf("%v, %v: waited %v times for batches, %d of which were asked; want 5 of %d", schedule, w, times, told, want)
				}
				told = 0
				return nil
			}}}})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
