package train_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// small has epochs of 18 steps of 8 samples and one of 6.
var small = strings.Replace(light, "batch: 32", "batch: 8", 1)

// grouped are runs whose steps are launched together: with schedules, random numbers, loss
// scaling, and hooks whose steps differ.
var grouped = map[string]string{
	"dropout":    small,
	"schedule":   strings.Replace(small, "sgd: {lr: 5e-2, momentum: 0.9}", "adamw: {lr: 1e-2}", 1) + "schedule: {warmup: {steps: 9, then: cosine}}\n",
	"fp16":       strings.Replace(small, "sgd: {lr: 5e-2, momentum: 0.9}", "adam: {lr: 1e-2}", 1) + "precision: fp16\n",
	"accumulate": small + "accumulate: 3\nclip_norm: 1\n",
	"averages":   small + "ema: 0.9\n",
}

// progress is a callback that lets steps be launched together.
func progress(f func(train.Progress) error) train.Callback {
	if f == nil {
		f = func(train.Progress) error { return nil }
	}
	return train.CallbackFuncs{OnProgress: f}
}

// TestStepsOfAGraphGiveTheSameBits as steps that are not captured.
func TestStepsOfAGraphGiveTheSameBits(t *testing.T) {
	for name, text := range grouped {
		t.Run(name, func(t *testing.T) {
			whole, data := newRun(t, cudatest.Devices(t, cudatest.Deferred)[0], mode{"yes", "no"}, text)
			if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
				t.Fatal(err)
			}
			want := state(t, whole)
			train.GroupSteps(t, 1000*time.Hour)
			schedules := []cudatest.Schedule{cudatest.Deferred}
			if name == "dropout" {
				schedules = append(schedules, cudatest.Eager, cudatest.Async)
			}
			for _, schedule := range schedules {
				d := cudatest.Devices(t, schedule)[0]
				run, data := newRun(t, d, mode{"yes", "yes"}, text)
				var plan train.Plan
				watch := train.CallbackFuncs{OnEpochEnd: func(e train.Epoch) error { plan = e.Plan; return nil }}
				profile := d.Profile()
				if err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{progress(nil), watch}}); err != nil {
					t.Fatal(err)
				}
				profile.Stop()
				if plan.GraphChoice == nil || plan.GraphChoice.Steps != 8 {
					t.Fatalf("%v: chosen %v; want 8 steps a graph", schedule, plan.GraphChoice)
				}
				replays, uploads := 0, 0
				for _, r := range profile.Rows() {
					switch {
					case r.Activity == "replay":
						replays += r.Count
					case r.Activity == "upload" && strings.Contains(r.Name, "argsBuffer"):
						uploads += r.Count
					}
				}
				// Of the second epoch's 18 full batches, 16 are in 2 graphs.
				if replays > 24 || uploads > 29 {
					t.Errorf("%v: %d replays and %d uploads of arguments for 38 steps", schedule, replays, uploads)
				}
				sameState(t, fmt.Sprintf("%v", schedule), state(t, run), want)
			}
		})
	}
}

// TestGroupsEndWhereARunIsSaved interrupts runs whose steps are launched together, which are
// saved after every third step too, and goes on without a graph.
func TestGroupsEndWhereARunIsSaved(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	train.GroupSteps(t, 1000*time.Hour)
	for _, name := range []string{"dropout", "fp16", "accumulate"} {
		text := grouped[name]
		whole, data := newRun(t, d, mode{"yes", "no"}, text)
		if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		want := state(t, whole)
		for _, stop := range map[string][]uint64{"dropout": {19, 22, 30}, "fp16": {22}, "accumulate": {30}}[name] {
			run, data := newRun(t, d, mode{"yes", "yes"}, text)
			file := filepath.Join(t.TempDir(), "run.npz")
			ctx, cancel := context.WithCancel(context.Background())
			o := train.Options{File: file, Callbacks: []train.Callback{progress(func(train.Progress) error {
				if run.Position.Step == stop {
					cancel()
				}
				return nil
			})}}
			if stop == 30 {
				o.SaveEvery.Steps = 3
			}
			if err := run.Fit(ctx, data, o); !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v", err)
			}
			again, err := train.Resume(file, d)
			if err != nil {
				t.Fatal(err)
			}
			if again.Position.Step != stop {
				t.Errorf("%s: saved after step %d, want %d", name, again.Position.Step, stop)
			}
			again.Config.Graph = "no"
			if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
				t.Fatal(err)
			}
			sameState(t, fmt.Sprintf("%s, interrupted after step %d", name, stop), state(t, again), want)
		}
	}
}

// TestMissingWaitsOfGroupsAreDetected is TestMissingWaitsAreDetected with steps that are
// launched together.
func TestMissingWaitsOfGroupsAreDetected(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	train.OnlyAtTheEnd(t)
	train.GroupSteps(t, 1000*time.Hour)
	results := map[string]string{}
	for name, d := range map[string]faultyDevice{
		"no wait left out":                     {Device: gpu},
		"work does not wait for copies":        {Device: gpu, work: true},
		"copies do not wait for work":          {Device: gpu, copies: true},
		"the host does not wait to write anew": {Device: gpu, host: true},
	} {
		run, data := newRun(t, gpu, mode{"yes", "yes"}, strings.Replace(small, "batch: 8", "batch: 2", 1))
		run.Device, run.Config.Epochs = d, 1
		synced := false
		err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{progress(func(train.Progress) error {
			if run.Position.Step == 20 && !synced {
				synced = true
				return gpu.Stream().Sync()
			}
			return nil
		})}})
		if err != nil {
			results[name] = err.Error()
			cudatest.Reset()
			continue
		}
		results[name] = fmt.Sprint(state(t, run))
	}
	for name, result := range results {
		if alike := result == results["no wait left out"]; alike != (name == "no wait left out") {
			t.Errorf("%s: not detected", name)
		}
	}
}

// TestCallbacksThatMayLookKeepStepsApart: what OnStepEnd sees are the parameters after the step.
func TestCallbacksThatMayLookKeepStepsApart(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	train.GroupSteps(t, 1000*time.Hour)
	var seen [2][]string
	for i, graph := range []config.Choice{"no", "yes"} {
		run, data := newRun(t, d, mode{"yes", graph}, small)
		run.Config.Epochs = 1
		if err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
			seen[i] = append(seen[i], fmt.Sprint(weightsOf(t, run)))
			return nil
		}}}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range seen[0] {
		if seen[0][i] != seen[1][i] {
			t.Fatalf("step %d: the parameters differ", i+1)
		}
	}
}

// An orderedDevice reports times of replays that depend on the order of the graph.
type orderedDevice struct {
	*cuda.Device
	last kernels.GraphOrder // of the graph replayed last
}

type orderedGraph struct {
	kernels.Graph
	order kernels.GraphOrder
	d     *orderedDevice
}

func (d *orderedDevice) Capture(order kernels.GraphOrder, work func() error) (kernels.Graph, error) {
	g, err := d.Device.Capture(order, work)
	return orderedGraph{g, order, d}, err
}

func (g orderedGraph) Replay() error {
	g.d.last = g.order
	return g.Graph.Replay()
}

type orderedStream struct {
	storage.Stream
	d *orderedDevice
}

type orderedEvent struct {
	storage.Event
	after *kernels.GraphOrder
}

func (d *orderedDevice) ComputeStream() storage.Stream {
	return orderedStream{d.Device.ComputeStream(), d}
}

func (d *orderedDevice) OpenStream() (storage.Stream, error) {
	q, err := d.Device.OpenStream()
	return orderedStream{q, d}, err
}

func (d *orderedDevice) OpenEvent(timed bool) (storage.Event, error) {
	m, err := d.Device.OpenEvent(timed)
	return orderedEvent{m, new(kernels.GraphOrder)}, err
}

func (q orderedStream) Record(m storage.Event) error {
	*m.(orderedEvent).after = q.d.last
	return q.Stream.Record(m.(orderedEvent).Event)
}

func (q orderedStream) WaitEvent(m storage.Event) error {
	return q.Stream.WaitEvent(m.(orderedEvent).Event)
}

// Since is the time of the replay before m.
func (m orderedEvent) Since(earlier storage.Event) (time.Duration, bool, error) {
	_, both, err := m.Event.Since(earlier.(orderedEvent).Event)
	return orderedTimes[*m.after], both, err
}

// orderedTimes are what every orderedDevice reports.
var orderedTimes [2]time.Duration

// TestEitherOrderMayBeChosen: the faster one is kept, its results are the same, and the plan says
// which it is.
func TestEitherOrderMayBeChosen(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	whole, data := newRun(t, d, mode{"yes", "no"}, small)
	if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	want := state(t, whole)
	train.GroupSteps(t, 0)
	for order, times := range map[tensor.GraphOrder][2]time.Duration{
		tensor.ByData:       {80 * time.Microsecond, 95 * time.Microsecond},
		tensor.StraightLine: {95 * time.Microsecond, 80 * time.Microsecond},
	} {
		run, data := newRun(t, d, mode{"yes", "yes"}, small)
		timed := &orderedDevice{Device: d}
		orderedTimes = times
		run.Device = timed
		var plan train.Plan
		watch := train.CallbackFuncs{OnEpochEnd: func(e train.Epoch) error { plan = e.Plan; return nil }}
		if err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{watch}}); err != nil {
			t.Fatal(err)
		}
		if want := (train.GraphChoice{Order: order, Steps: 1, Branches: times[0], Line: times[1]}); plan.GraphChoice == nil || *plan.GraphChoice != want {
			t.Errorf("chosen %v; want %v", plan.GraphChoice, want)
		}
		if timed.last != order {
			t.Errorf("the last replay is a graph of %v; want %v", timed.last, order)
		}
		sameState(t, order.String(), state(t, run), want)
	}
	choice := train.GraphChoice{Order: tensor.StraightLine, Steps: 8, Branches: 95123, Line: 80456}
	if got, want := choice.String(), "8 steps a graph, straight line: 80.5 µs a step, 95.1 µs in branches"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}
