package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

func TestPlans(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range append([]mode{{}}, modes...) {
		run, data := newRun(t, d, w, bare)
		run.Config.Epochs = 1
		var plan train.Plan
		if err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnRunBegin: func(p train.Plan) error { plan = p; return nil }}}}); err != nil {
			t.Fatal(err)
		}
		if plan.Resident != (w.resident != "no") || plan.Graph != (w.graph != "no") || plan.NoGraph != "" || plan.Samples != 150 {
			t.Errorf("%v: plan %+v", w, plan)
		}
	}
}

// An uncapturableDevice cannot capture graphs.
type uncapturableDevice struct{ *cuda.Device }

var errCapture = errors.New("capture failed")

func (uncapturableDevice) Capture(kernels.GraphOrder, func() error) (kernels.Graph, error) {
	return nil, errCapture
}

// TestStepsRunWithoutAGraphIfCaptureFails with the same results and one
// note; if a graph was asked for, that is an error.
func TestStepsRunWithoutAGraphIfCaptureFails(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	want, data := newRun(t, d, mode{"no", "no"}, bare)
	if err := want.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, graph := range []config.Choice{"", "yes"} {
		run, data := newRun(t, d, mode{"no", graph}, bare)
		run.Device = uncapturableDevice{d}
		var notes []string
		var last train.Plan
		err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnNote: func(note string) error { notes = append(notes, note); return nil },
			OnEpochEnd: func(e train.Epoch) error { last = e.Plan; return nil }}}})
		if graph == "yes" {
			if !errors.Is(err, errCapture) || len(notes) > 0 {
				t.Errorf("asked to record: error %v, notes %q", err, notes)
			}
			continue
		}
		if err != nil || len(notes) != 1 || !strings.HasSuffix(notes[0], ": capture failed") {
			t.Errorf("error %v, notes %q; want one that says why", err, notes)
		}
		if last.Graph || last.NoGraph != "capture failed" {
			t.Errorf("the last epoch's plan is %+v", last)
		}
		run.Config.Graph = want.Config.Graph
		sameState(t, "not recorded", state(t, run), state(t, want))
	}
}

// A flakyDevice captures every second time only.
type flakyDevice struct {
	*cuda.Device
	asked *int
}

func (d flakyDevice) Capture(order kernels.GraphOrder, work func() error) (kernels.Graph, error) {
	if *d.asked++; *d.asked%2 == 1 {
		return nil, errCapture
	}
	return d.Device.Capture(order, work)
}

// TestCaptureIsRetried after it failed once: the step is made without a graph, with
// the same results and no note.
func TestCaptureIsRetried(t *testing.T) {
	d, asked := cudatest.Devices(t, cudatest.Deferred)[0], 0
	want, data := newRun(t, d, mode{"no", "yes"}, bare)
	want.Config.Epochs = 3
	if err := want.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	run, data := newRun(t, d, mode{"no", "yes"}, bare)
	run.Device, run.Config.Epochs = flakyDevice{d, &asked}, 3
	err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnNote: func(note string) error { return fmt.Errorf("note %q", note) }}}})
	if err != nil || asked != 12 {
		t.Errorf("error %v, asked to record %d times; want none, and twice for each order in each of 3 slots", err, asked)
	}
	sameState(t, "recorded late", state(t, run), state(t, want))
}

// A byValue optimizer is not nn.Capturable.
type byValue struct{ nn.Optimizer }

// TestOptimizersThatAreNotCapturableRunWithoutAGraph, and the plan says
// why; if a graph was asked for, that is an error.
func TestOptimizersThatAreNotCapturableRunWithoutAGraph(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, graph := range []config.Choice{"", "yes"} {
		run, data := newRun(t, d, mode{"no", graph}, bare)
		run.Optimizer, run.Config.Epochs = byValue{run.Optimizer}, 1
		var plan train.Plan
		err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnRunBegin: func(p train.Plan) error { plan = p; return nil }}}})
		if asked := graph == "yes"; errors.Is(err, storage.ErrState) != asked || !asked && (err != nil || plan.NoGraph == "") {
			t.Errorf("graph %q: error %v, plan %+v", graph, err, plan)
		}
	}
}

// TestMemoryErrorsNameSettings trains with less and less memory.
func TestMemoryErrorsNameSettings(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range []mode{{"yes", "no"}, {"no", "yes"}} {
		for _, limit := range []int{40_000, 20_000, 10_000, 5_000, 1_000} {
			run, data := newRun(t, d, w, light)
			t.Run(fmt.Sprintf("%v, %d bytes", w, limit), func(t *testing.T) {
				cudatest.LimitMemory(t, d, limit)
				err := run.Fit(context.Background(), data, train.Options{})
				if !errors.Is(err, storage.ErrMemory) || strings.Contains(err.Error(), "data.resident: no") != (w.resident == "yes") {
					t.Fatalf("error %v", err)
				}
				for _, part := range []string{"cuda:0: allocate ", "arrays use ", "a batch below 32", "precision: bf16"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("error %v; want %q in it", err, part)
					}
				}
			})
		}
	}
}

// TestValidationFitsWhereTrainingDoes allows a MiB for samples of a KiB, of which validation
// and the copy to a GPU would read 200 at a time. One sample that is too large is an error.
func TestValidationFitsWhereTrainingDoes(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	fit := func(d storage.Device, resident config.Choice, memory int64, samples, width int) (val float64, err error) {
		c, err := train.ParseConfig([]byte("data: {file: f, x: x, y: y, val_x: x, val_y: y, normalize: {mean: 0.5, std: 0.25}}\nmodel: [{dense: 2}]\nclasses: 2\nbatch: 25\nepochs: 1"))
		if err != nil {
			t.Fatal(err)
		}
		c.Data.Memory, c.Data.Resident = memory, resident
		x, y := make([]uint8, samples*width), make([]uint8, samples)
		for i := range x {
			x[i] = uint8(i * i)
		}
		for i := range y {
			y[i] = uint8(i % 2)
		}
		arrays := train.Arrays{X: storage.From(x, samples, width), Y: storage.From(y, samples)}
		arrays.ValX, arrays.ValY = arrays.X, arrays.Y
		data, err := train.NewData(c, arrays)
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(context.Background(), c, data, d)
		if err != nil {
			t.Fatal(err)
		}
		err = run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnEpochEnd: func(e train.Epoch) error { val = e.Val.MeanLoss(); return nil }}}})
		return val, err
	}
	for _, w := range []struct {
		d        storage.Device
		resident config.Choice
	}{{storage.CPU, ""}, {gpu, "yes"}, {gpu, "no"}} {
		want, err := fit(w.d, w.resident, 0, 200, 1<<10)
		got, failed := fit(w.d, w.resident, 1, 200, 1<<10)
		if err != nil || failed != nil || !(math.Abs(got-want) <= 1e-5*want) {
			t.Errorf("%v, resident %q: validates to %v with a MiB, %v; without a limit %v, %v", w.d, w.resident, got, failed, want, err)
		}
	}
	if _, err := fit(storage.CPU, "", 1, 2, 1<<20); !errors.Is(err, dataset.ErrMemory) || !strings.HasSuffix(err.Error(), "; a larger data.memory_mb allows more") {
		t.Errorf("samples that are too large: %v", err)
	}
}
