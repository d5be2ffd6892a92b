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

func TestPlansSayWhatIsDone(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range append([]way{{}}, ways...) {
		run, data := onGPU(t, d, w, bare)
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

// A forgetful device cannot record.
type forgetful struct{ *cuda.Device }

var errForgotten = errors.New("forgotten")

func (forgetful) Capture(func() error) (kernels.Graph, error) { return nil, errForgotten }

// TestStepsThatCannotBeRecordedAreMade as they are, to the same end, and the user
// hears of it once; where recording was asked for, that is an error.
func TestStepsThatCannotBeRecordedAreMade(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	want, data := onGPU(t, d, way{"no", "no"}, bare)
	if err := want.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, graph := range []config.Choice{"", "yes"} {
		run, data := onGPU(t, d, way{"no", graph}, bare)
		run.Device = forgetful{d}
		var notes []string
		var last train.Plan
		err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnNote: func(note string) error { notes = append(notes, note); return nil },
			OnEpochEnd: func(e train.Epoch) error { last = e.Plan; return nil }}}})
		if graph == "yes" {
			if !errors.Is(err, errForgotten) || len(notes) > 0 {
				t.Errorf("asked to record: error %v, notes %q", err, notes)
			}
			continue
		}
		if err != nil || len(notes) != 1 || !strings.HasSuffix(notes[0], ": forgotten") {
			t.Errorf("error %v, notes %q; want one that says why", err, notes)
		}
		if last.Graph || last.NoGraph != "forgotten" {
			t.Errorf("the last epoch's plan is %+v", last)
		}
		run.Config.Graph = want.Config.Graph
		sameState(t, "not recorded", state(t, run), state(t, want))
	}
}

// A hesitant device records every other time it is asked to.
type hesitant struct {
	*cuda.Device
	asked *int
}

func (d hesitant) Capture(work func() error) (kernels.Graph, error) {
	if *d.asked++; *d.asked%2 == 1 {
		return nil, errForgotten
	}
	return d.Device.Capture(work)
}

// TestRecordingIsTriedAgain where it failed once: the step is made as it is meanwhile, to
// the same end, and nobody hears of it.
func TestRecordingIsTriedAgain(t *testing.T) {
	d, asked := cudatest.Devices(t, cudatest.Deferred)[0], 0
	want, data := onGPU(t, d, way{"no", "yes"}, bare)
	if err := want.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	run, data := onGPU(t, d, way{"no", "yes"}, bare)
	run.Device = hesitant{d, &asked}
	err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnNote: func(note string) error { return fmt.Errorf("note %q", note) }}}})
	if err != nil || asked != 6 {
		t.Errorf("error %v, asked to record %d times; want none, and twice for each of 3 slots", err, asked)
	}
	sameState(t, "recorded late", state(t, run), state(t, want))
}

// A settled optimizer cannot be told in memory what changes.
type settled struct{ nn.Optimizer }

// TestStepsThatCannotBeSteeredAreNotRecorded, which the plan says; where recording was
// asked for, that is an error.
func TestStepsThatCannotBeSteeredAreNotRecorded(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, graph := range []config.Choice{"", "yes"} {
		run, data := onGPU(t, d, way{"no", graph}, bare)
		run.Optimizer, run.Config.Epochs = settled{run.Optimizer}, 1
		var plan train.Plan
		err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnRunBegin: func(p train.Plan) error { plan = p; return nil }}}})
		if asked := graph == "yes"; errors.Is(err, storage.ErrState) != asked || !asked && (err != nil || plan.NoGraph == "") {
			t.Errorf("graph %q: error %v, plan %+v", graph, err, plan)
		}
	}
}

// TestTooLittleMemoryNamesWaysOut lets a GPU have less and less of it.
func TestTooLittleMemoryNamesWaysOut(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range []way{{"yes", "no"}, {"no", "yes"}} {
		for _, limit := range []int{40_000, 20_000, 10_000, 5_000, 1_000} {
			run, data := onGPU(t, d, w, light)
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

// TestValidationFitsWhereTrainingDoes has a MiB for samples of a KiB, which validation and
// filling a GPU would read 200 at a time; and says what helps where one is too much.
func TestValidationFitsWhereTrainingDoes(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	fit := func(d storage.Device, resident config.Choice, memory int64, samples, width int) (val float64, err error) {
		c, err := train.ParseConfig([]byte("data: {file: f, x: x, y: y, val_x: x, val_y: y, normalize: {mean: 0.5, std: 0.25}}\nmodel: [{dense: 2}]\nclasses: 2\nbatch: 4\nepochs: 1"))
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
