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

// A timedDevice reports that every second batch arrived late, and the others early.
type timedDevice struct {
	*cuda.Device
	told *int
}

const late = 1e6 * time.Second

func (d timedDevice) OpenEvent(timed bool) (storage.Event, error) {
	m, err := d.Device.OpenEvent(timed)
	return timedEvent{m, d.told}, err
}

func (d timedDevice) ComputeStream() storage.Stream { return timedStream{d.Device.ComputeStream()} }

func (d timedDevice) OpenStream() (storage.Stream, error) {
	q, err := d.Device.OpenStream()
	return timedStream{q}, err
}

type timedStream struct{ storage.Stream }

func (q timedStream) Record(m storage.Event) error { return q.Stream.Record(m.(timedEvent).Event) }
func (q timedStream) WaitEvent(m storage.Event) error {
	return q.Stream.WaitEvent(m.(timedEvent).Event)
}

type timedEvent struct {
	storage.Event
	told *int
}

func (m timedEvent) Since(earlier storage.Event) (time.Duration, bool, error) {
	_, both, err := m.Event.Since(earlier.(timedEvent).Event)
	if !both {
		return 0, false, err
	}
	if *m.told++; *m.told%2 == 0 {
		return -late, true, err
	}
	return late, true, err
}

// TestWaitingTimeIsThatOfTheDevice expects one measurement for each batch but the
// first of an epoch, in which early batches do not make up for late ones. Samples that are all
// on the device are not waited for.
func TestWaitingTimeIsThatOfTheDevice(t *testing.T) {
	for schedule, modes := range map[cudatest.Schedule][]mode{cudatest.Deferred: modes, cudatest.Eager: modes[1:2], cudatest.Async: modes[2:3]} {
		gpu := cudatest.Devices(t, schedule)[0]
		for _, w := range modes {
			told := 0
			run, data := newRun(t, gpu, w, bare) // epochs of 10 steps
			run.Device = timedDevice{gpu, &told}
			err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnEpochEnd: func(e train.Epoch) error {
				want, least := 9, 5.0 // it waited for the first batch, too
				if w.resident == "yes" {
					want, least = 0, 0
				}
				if times := e.Train.Waited / late.Seconds(); told != want || times < least || times >= least+0.001 {
					t.Errorf("%v, %v: waited %v times for batches, %d of which were asked; want %v of %d", schedule, w, times, told, least, want)
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
