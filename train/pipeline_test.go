package train_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// A mode is how batches reach a GPU and how steps are launched.
type mode struct{ resident, graph config.Choice }

var modes = []mode{{"no", "no"}, {"no", "yes"}, {"yes", "no"}, {"yes", "yes"}}

// light is a configuration that the GPU interpreter trains quickly.
const light = `
data: {file: blobs, x: images, y: labels}
model: [flatten, {dense: 8}, {batchnorm1d: {num_features: 8}}, {dropout: 0.2}, {dense: 4}]
optimizer: {sgd: {lr: 5e-2, momentum: 0.9}}
batch: 32
seed: 7
`

// normed has a layer with buffers that composite operations update.
var normed = strings.Replace(light, "{dense: 4}", "{spectral_norm: {layer: {dense: 12}}}, gaussian_sample, {dense: 4}", 1)

// bare takes it less time and makes more steps.
var bare = strings.NewReplacer("{dense: 8}, {batchnorm1d: {num_features: 8}}, {dropout: 0.2}, ", "", "batch: 32", "batch: 16").Replace(light)

func (w mode) String() string { return fmt.Sprintf("resident %s, graph %s", w.resident, w.graph) }

// newRun returns a run of two epochs on d, and its data.
func newRun(t testing.TB, d storage.Device, w mode, text string) (*train.Run, *train.Data) {
	t.Helper()
	c, err := train.ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c.Epochs, c.Graph, c.Data.Resident = 2, w.graph, w.resident
	x, y := blobs(150)
	vx, vy := unseen(60)
	data, err := train.NewData(c, train.Arrays{X: x, Y: y, ValX: vx, ValY: vy})
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), c, data, d)
	if err != nil {
		t.Fatal(err)
	}
	return run, data
}

// sameState fails unless two runs are equal bit for bit.
func sameState(t *testing.T, about string, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: %s is %.200s; want %.200s", about, name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d arrays, want %d", about, len(got), len(want))
	}
}

// TestEveryPipelineGivesTheSameBits trains in every mode, with work executed at once, as late
// as possible, and by goroutines. A difference means a missing wait.
func TestEveryPipelineGivesTheSameBits(t *testing.T) {
	var want map[string]string
	for schedule, modes := range map[cudatest.Schedule][]mode{cudatest.Deferred: modes, cudatest.Eager: modes[1:3], cudatest.Async: modes[1:3]} {
		d := cudatest.Devices(t, schedule)[0]
		for _, w := range modes {
			run, data := newRun(t, d, w, normed)
			if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
				t.Fatalf("%v, %v: %v", schedule, w, err)
			}
			got := state(t, run)
			if want == nil {
				want = got
			}
			sameState(t, fmt.Sprintf("%v, %v", schedule, w), got, want)
		}
	}
}

// TestGPUsResumeBitByBit interrupts training after some steps in each mode, and
// goes on in another.
func TestGPUsResumeBitByBit(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	whole, data := newRun(t, d, modes[0], normed)
	if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	want := state(t, whole)
	for i, stop := range []uint64{1, 4, 5, 6, 8, 10} {
		w, next := modes[i%4], modes[(i+1)%4]
		run, data := newRun(t, d, w, normed)
		file := filepath.Join(t.TempDir(), "run.npz")
		ctx, cancel := context.WithCancel(context.Background())
		err := run.Fit(ctx, data, train.Options{File: file, Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
			if run.Position.Step == stop {
				cancel()
			}
			return nil
		}}}})
		if stop < 10 && !errors.Is(err, context.Canceled) {
			t.Fatalf("%v: stopped after step %d: error %v, want that it was cancelled", w, stop, err)
		}
		again, err := train.Resume(file, d)
		if err != nil {
			t.Fatal(err)
		}
		again.Config.Graph, again.Config.Data.Resident = next.graph, next.resident
		if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		sameState(t, fmt.Sprintf("%v until step %d, then %v", w, stop, next), state(t, again), want)
	}
}

// A cancelling dataset cancels the context when it is first read.
type cancelling struct {
	dataset.Dataset
	cancel context.CancelFunc
}

func (c cancelling) Read(into dataset.Batch, rows []int) error {
	c.cancel()
	return c.Dataset.Read(into, rows)
}

// TestRunsAreSavedBeforeTheirFirstStep interrupts the copy of resident samples.
func TestRunsAreSavedBeforeTheirFirstStep(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	run, data := newRun(t, d, mode{"yes", ""}, bare)
	file, want := filepath.Join(t.TempDir(), "run.npz"), state(t, run)
	ctx, cancel := context.WithCancel(context.Background())
	data.Train = cancelling{data.Train, cancel}
	if err := run.Fit(ctx, data, train.Options{File: file}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that it was cancelled", err)
	}
	again, err := train.Resume(file, d)
	if err != nil {
		t.Fatal(err)
	}
	sameState(t, "saved", state(t, again), want)
}

// A faultyDevice leaves out waits.
type faultyDevice struct {
	*cuda.Device
	work, copies, host bool // whose
}

func (f faultyDevice) ComputeStream() storage.Stream {
	return faultyStream{f.Device.ComputeStream(), f.work}
}

func (f faultyDevice) OpenStream() (storage.Stream, error) {
	q, err := f.Device.OpenStream()
	return faultyStream{q, f.copies}, err
}

func (f faultyDevice) OpenEvent(timed bool) (storage.Event, error) {
	m, err := f.Device.OpenEvent(timed)
	return faultyEvent{m, f.host}, err
}

type faultyStream struct {
	storage.Stream
	faultyDevice bool
}

func (q faultyStream) Record(m storage.Event) error { return q.Stream.Record(m.(faultyEvent).Event) }

func (q faultyStream) WaitEvent(m storage.Event) error {
	if q.faultyDevice {
		return nil
	}
	return q.Stream.WaitEvent(m.(faultyEvent).Event)
}

type faultyEvent struct {
	storage.Event
	faultyDevice bool
}

func (m faultyEvent) Wait() error {
	if m.faultyDevice {
		return nil
	}
	return m.Event.Wait()
}

// Since reports no times.
func (faultyEvent) Since(storage.Event) (time.Duration, bool, error) { return 0, false, nil }

// TestMissingWaitsAreDetected leaves out each wait of the pipeline. When work is executed as
// late as possible, results must differ or training must fail: otherwise the wait is not
// needed, or the tests could not detect its absence.
func TestMissingWaitsAreDetected(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	train.OnlyAtTheEnd(t)
	for _, w := range modes {
		results := map[string]string{}
		for name, d := range map[string]faultyDevice{
			"no wait left out":                     {Device: gpu},
			"work does not wait for copies":        {Device: gpu, work: true},
			"copies do not wait for work":          {Device: gpu, copies: true},
			"the host does not wait to write anew": {Device: gpu, host: true},
		} {
			run, data := newRun(t, gpu, w, bare)
			run.Device, run.Config.Epochs = d, 1
			err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
				if run.Position.Step == 2 {
					return gpu.Stream().Sync() // the work is done before anything asks for its copies
				}
				return nil
			}}}})
			if err != nil {
				results[name] = err.Error()
				cudatest.Reset()
				continue
			}
			results[name] = fmt.Sprint(state(t, run))
		}
		for name, result := range results {
			if alike := result == results["no wait left out"]; alike != (name == "no wait left out") {
				t.Errorf("%v: %s: not detected", w, name)
			}
		}
	}
}

// TestStepsDoNotWait checks after step 6 that step 2 has not run: with work executed as late
// as possible, it has only if something waited for it.
func TestStepsDoNotWait(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range modes {
		run, data := newRun(t, d, w, bare)
		var second *cuda.Event
		err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) (err error) {
			switch run.Position.Step {
			case 2:
				if second, err = d.NewEvent(); err == nil {
					err = second.Record(d.Stream())
				}
			case 6:
				var done bool
				if done, err = second.Done(); done {
					t.Errorf("%v: step 2 is done before anybody needs it", w)
				}
			}
			return err
		}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLossesThatAreNotFiniteAreFoundOnGPUs(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range modes {
		run, data := newRun(t, d, w, strings.Replace(light, "5e-2", "1e30", 1))
		err := run.Fit(context.Background(), data, train.Options{})
		if !errors.Is(err, storage.ErrState) || !strings.HasPrefix(err.Error(), "epoch 1, step 2: train: the loss is ") {
			t.Errorf("%v: error %v; want one of step 2", w, err)
		}
	}
}

// TestStepsAreCountedOverEpochs in the error of a loss that is not finite.
func TestStepsAreCountedOverEpochs(t *testing.T) {
	run, data := newRun(t, cudatest.Devices(t, cudatest.Deferred)[0], modes[0], bare)
	err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnEpochEnd: func(train.Epoch) error {
		for _, p := range nn.Parameters(run.Model) {
			if err := storage.Fill(p.Array(), math.NaN()); err != nil {
				return err
			}
		}
		return nil
	}}}})
	if want := "epoch 2, step 11: train: the loss is NaN"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestSamplesAreResidentIfTheyFit counts the launches that gather rows of resident samples,
// in the first step.
func TestSamplesAreResidentIfTheyFit(t *testing.T) {
	const n, bytes = 8000, 8000 * (64 + 8)
	d, enough := cudatest.Devices(t, cudatest.Eager)[1], errors.New("enough seen")
	x, y := blobs(n)
	took := func() (launches int) {
		c, err := train.ParseConfig([]byte(light))
		if err != nil {
			t.Fatal(err)
		}
		data, err := train.NewData(c, train.Arrays{X: x, Y: y})
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(context.Background(), c, data, d)
		if err != nil {
			t.Fatal(err)
		}
		before := cudatest.LaunchCounts()
		if err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error { return enough }}}}); !errors.Is(err, enough) {
			t.Fatal(err)
		}
		for entry, count := range cudatest.LaunchCounts() {
			if strings.HasPrefix(entry, "take_") {
				launches += count - before[entry]
			}
		}
		return launches
	}
	free, err := d.FreeMemory()
	if err != nil {
		t.Fatal(err)
	}
	cudatest.LimitMemory(t, d, 1<<30-free+2*bytes-1)
	if took() != 0 {
		t.Error("samples that take more than half of the free memory were kept")
	}
	cudatest.LimitMemory(t, d, 1<<30)
	if took() == 0 {
		t.Error("samples that fit were not kept")
	}
}

func TestSettingsThatADeviceLacksAreRefused(t *testing.T) {
	for _, w := range []mode{{"yes", ""}, {"", "yes"}} {
		run, data := newRun(t, storage.CPU, mode{}, light)
		run.Config.Graph, run.Config.Data.Resident = w.graph, w.resident
		if err := run.Fit(context.Background(), data, train.Options{}); !errors.Is(err, storage.ErrDevice) {
			t.Errorf("%v on the CPU: error %v; want one of kind %v", w, err, storage.ErrDevice)
		}
		if _, err := train.New(context.Background(), run.Config, data, storage.CPU); !errors.Is(err, storage.ErrDevice) {
			t.Errorf("%v on the CPU, anew: error %v; want one of kind %v", w, err, storage.ErrDevice)
		}
	}
}

// TestLabelsOutsideTheClassesAreReported with an invalid label in the training data, and in
// the validation data.
func TestLabelsOutsideTheClassesAreReported(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range modes {
		for _, validating := range []bool{false, true} {
			run, _ := newRun(t, d, w, light)
			_, bad := blobs(150)
			storage.Elements[int64](bad)[40] = 9
			x, y := blobs(150)
			arrays := train.Arrays{X: x, Y: bad}
			if validating {
				arrays = train.Arrays{X: x, Y: y, ValX: x, ValY: bad}
			}
			data, err := train.NewData(run.Config, arrays)
			if err != nil {
				t.Fatal(err)
			}
			where := map[bool]string{false: "epoch 1, by step 5: cuda:0: row ", true: "evaluate: cuda:0: row "}[validating]
			if err := run.Fit(context.Background(), data, train.Options{}); err == nil || !strings.HasPrefix(err.Error(), where) || !strings.Contains(err.Error(), "label 9") {
				t.Errorf("%v, validating %v: error %v; want one about label 9, %s", w, validating, err, where)
			}
			cudatest.Reset()
		}
	}
}

// TestOneHotLabelsOnGPUs expects the losses of the CPU in every mode, and an error for labels
// outside the classes.
func TestOneHotLabelsOnGPUs(t *testing.T) {
	text := strings.Replace(bare, "y: labels", "y: labels, one_hot: true", 1) + "loss: mse"
	cpu, data := newRun(t, storage.CPU, mode{}, text)
	if err := cpu.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range modes {
		run, data := newRun(t, d, w, text)
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		for i, want := range cpu.History["val_loss"] {
			if got := run.History["val_loss"][i]; !(math.Abs(got-want) <= 1e-4*want) {
				t.Errorf("%v: val_loss of epoch %d is %v, on the CPU %v", w, i+1, got, want)
			}
		}
		run, _ = newRun(t, d, w, text)
		x, bad := blobs(150)
		storage.Elements[int64](bad)[40] = 9
		data, err := train.NewData(run.Config, train.Arrays{X: x, Y: bad})
		if err != nil {
			t.Fatal(err)
		}
		err = run.Fit(context.Background(), data, train.Options{})
		if want := "one hot: label 9 of sample 40; there are 4 classes"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v; want %q", w, err, want)
		}
	}
}

// TestCallbackErrorsLeaveCompleteTotals expects the totals of the epoch to
// include every sample trained on, although the host had not read them yet.
func TestCallbackErrorsLeaveCompleteTotals(t *testing.T) {
	d, enough := cudatest.Devices(t, cudatest.Deferred)[0], errors.New("enough seen")
	train.OnlyAtTheEnd(t)
	run, data := newRun(t, d, modes[1], bare)
	err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
		if run.Position.Step == 3 {
			return enough
		}
		return nil
	}}}})
	if c := run.Position; !errors.Is(err, enough) || c.Consumed != 48 || c.Running.Samples != c.Consumed || c.Running.Loss == 0 {
		t.Errorf("position %+v after 48 samples, error %v", c, err)
	}
}

// A countingDevice counts its open streams and events. It fails to open more than left, or
// to allocate more bytes at once than most.
type countingDevice struct {
	*cuda.Device
	open, left, most int
	tf32             bool
}

type countedEvent struct {
	storage.Event
	d *countingDevice
}

type countedStream struct {
	storage.Stream
	d *countingDevice
}

func (m countedEvent) Since(earlier storage.Event) (time.Duration, bool, error) {
	return m.Event.Since(earlier.(countedEvent).Event)
}

func (m countedEvent) Close() error  { m.d.open--; return m.Event.Close() }
func (q countedStream) Close() error { q.d.open--; return q.Stream.Close() }

func (q countedStream) Record(m storage.Event) error { return q.Stream.Record(m.(countedEvent).Event) }
func (q countedStream) WaitEvent(m storage.Event) error {
	return q.Stream.WaitEvent(m.(countedEvent).Event)
}

func (d *countingDevice) ComputeStream() storage.Stream {
	return countedStream{d.Device.ComputeStream(), d}
}

var errLimit = errors.New("spent")

func (d *countingDevice) spendOne() error {
	if d.left--; d.left < 0 {
		return errLimit
	}
	d.open++
	return nil
}

func (d *countingDevice) OpenStream() (storage.Stream, error) {
	if err := d.spendOne(); err != nil {
		return nil, err
	}
	q, err := d.Device.OpenStream()
	return countedStream{q, d}, err
}

func (d *countingDevice) OpenEvent(timed bool) (storage.Event, error) {
	if err := d.spendOne(); err != nil {
		return nil, err
	}
	m, err := d.Device.OpenEvent(timed)
	return countedEvent{m, d}, err
}

func (d *countingDevice) Alloc(size int) (storage.Storage, error) {
	if size > d.most {
		return nil, errLimit
	}
	return d.Device.Alloc(size)
}

func (d *countingDevice) AllowTF32(allow bool) { d.tf32 = allow }

// TestTrainingClosesWhatItOpens on a device, also after errors.
func TestTrainingClosesWhatItOpens(t *testing.T) {
	const enough = 1 << 20
	const ring = 1 + 12   // a queue, and twice as many pairs of marks as slots
	const both = 2 * ring // to train and to validate
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range modes[1:3] {
		for _, d := range []*countingDevice{
			{left: both, most: enough}, {left: both - 1, most: enough}, {left: ring, most: enough}, {left: ring - 1, most: enough}, {left: 3, most: enough},
			{left: 0, most: enough}, {left: both, most: 150*64 - 1}, {left: both, most: 100},
		} {
			about := fmt.Sprintf("%v, %d to open, %d bytes at a time", w, d.left, d.most)
			run, data := newRun(t, gpu, w, light)
			d.Device, run.Device, run.Config.Epochs = gpu, d, 1
			wants := d.left < both || d.most < 150*64 && w.resident == "yes" || d.most == 100
			if err := run.Fit(context.Background(), data, train.Options{}); errors.Is(err, errLimit) != wants || !wants && err != nil {
				t.Errorf("%s: error %v", about, err)
			}
			if d.open != 0 {
				t.Errorf("%s: %d are left open", about, d.open)
			}
		}
	}
}

// A failingDevice returns an error from every wait.
type failingDevice struct{ *countingDevice }

func (d failingDevice) OpenEvent(timed bool) (storage.Event, error) {
	m, err := d.countingDevice.OpenEvent(timed)
	return failingEvent{m.(countedEvent)}, err
}

type failingEvent struct{ countedEvent }

func (failingEvent) Wait() error { return errLimit }

func (d failingDevice) Sync() error { return errLimit }
func (d failingDevice) ComputeStream() storage.Stream {
	return failingStream{d.countingDevice.ComputeStream()}
}
func (d failingDevice) OpenStream() (storage.Stream, error) {
	q, err := d.countingDevice.OpenStream()
	return failingStream{q}, err
}

type failingStream struct{ storage.Stream }

func (q failingStream) Record(m storage.Event) error {
	return q.Stream.Record(m.(failingEvent).countedEvent)
}
func (q failingStream) WaitEvent(m storage.Event) error {
	return q.Stream.WaitEvent(m.(failingEvent).countedEvent)
}

// TestDeviceErrorsAreReportedOnce, although every later call fails too.
func TestDeviceErrorsAreReportedOnce(t *testing.T) {
	d := &countingDevice{Device: cudatest.Devices(t, cudatest.Deferred)[0], left: 100, most: 1 << 20}
	for _, w := range modes {
		run, data := newRun(t, d.Device, w, bare)
		run.Device = failingDevice{d}
		err := run.Fit(context.Background(), data, train.Options{})
		if !errors.Is(err, errLimit) || strings.Count(err.Error(), errLimit.Error()) != 1 {
			t.Errorf("%v: error %q, want %q once", w, err, errLimit)
		}
	}
	if d.open != 0 {
		t.Errorf("%d are left open", d.open)
	}
}

// TestTF32IsSetForTheRunThatTrains: the device may serve others between New and Fit.
func TestTF32IsSetForTheRunThatTrains(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, precision := range []string{"tf32", "float32"} {
		run, data := newRun(t, gpu, modes[0], light+"precision: "+precision)
		d := &countingDevice{Device: gpu, left: 26, most: 1 << 20, tf32: precision != "tf32"}
		run.Device, run.Config.Epochs = d, 1
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil || d.tf32 != (precision == "tf32") {
			t.Errorf("%s: tf32 %v, error %v", precision, d.tf32, err)
		}
	}
}
