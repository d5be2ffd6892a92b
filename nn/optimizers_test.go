package nn_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// optimizerSteps is the number of steps in testdata/optimizers.npz.
const optimizerSteps = 20

var fixtureParameters = []string{"matrix", "vector", "cube"}

// A fixtureRun is an optimizer with the parameters of testdata/optimizers.npz.
type fixtureRun struct {
	t      *testing.T
	o      nn.Optimizer
	device storage.Device
	of     dtype.Type
	grads  map[string][]float32
	params map[string]*nn.Parameter

	captured bool          // the step reads its hyperparameters from memory
	scaler   storage.Array // of the loss, if it has a type
}

func newFixtureRun(t *testing.T, fixture oracle, description string, d storage.Device, of dtype.Type) *fixtureRun {
	t.Helper()
	o, err := nn.OptimizerFromConfig(json.RawMessage(description))
	if err != nil {
		t.Fatal(err)
	}
	r := &fixtureRun{t: t, o: o, device: d, of: of, grads: map[string][]float32{}, params: map[string]*nn.Parameter{}}
	for _, name := range fixtureParameters {
		r.grads[name] = storage.Elements[float32](fixture["grads/"+name])
		start := fixture["start/"+name]
		r.params[name] = nn.NewParameter(r.on(storage.Elements[float32](start), start.Shape))
	}
	return r
}

// on returns numbers as an array of the run's type, on its device.
func (r *fixtureRun) on(numbers []float32, shape []int) storage.Array {
	r.t.Helper()
	a, err := storage.Make(r.device, r.of, shape...)
	if err == nil {
		err = tensor.FromSlice(slices.Clone(numbers), shape...).Cast(r.of).Array().CopyTo(a)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *fixtureRun) parameters() iter.Seq2[string, *nn.Parameter] {
	return func(yield func(string, *nn.Parameter) bool) {
		for _, name := range fixtureParameters {
			if !yield(name, r.params[name]) {
				return
			}
		}
	}
}

// step takes step i, whose gradients are multiplied by scale.
func (r *fixtureRun) step(i int, scale float32) {
	r.t.Helper()
	grads := tensor.Grads{}
	for name, p := range r.params {
		g := slices.Clone(r.grads[name][i*p.Len() : (i+1)*p.Len()])
		for k := range g {
			g[k] *= scale
		}
		grads[p.Tensor] = tensor.FromArray(r.on(g, p.Shape()))
	}
	if r.captured {
		c := r.o.(nn.Capturable)
		hyper := c.StepArgs(nil)
		args := tensor.StepArgs{tensor.FromSlice(hyper, len(hyper)).To(r.device).Array()}
		if r.scaler.Type.Valid() {
			args = append(args, r.scaler)
		}
		c.SetStepArgs(args)
		defer c.CountStep()
	}
	err := tensor.Step(func(*tensor.Tape) error { return r.o.Step(r.parameters(), grads) })
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *fixtureRun) values() (all []float64) {
	for _, p := range r.parameters() {
		all = append(all, tensor.Values[float64](p.Tensor.To(storage.CPU).Cast(dtype.Float64))...)
	}
	return all
}

// agree compares the parameters after step i with PyTorch's.
func (r *fixtureRun) agree(what string, want []float64, tolerance float64) bool {
	r.t.Helper()
	for k, got := range r.values() {
		if !(math.Abs(got-want[k]) <= tolerance*(1+math.Abs(want[k]))) {
			r.t.Errorf("%s: parameter %d is %v, PyTorch's %v", what, k, got, want[k])
			return false
		}
	}
	return true
}

// fixtureOptimizers returns the descriptions in the fixture, in order.
func fixtureOptimizers(fixture oracle) []string {
	names := map[string]bool{}
	for key := range fixture {
		if name, ok := strings.CutSuffix(key, "/float64"); ok {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (o oracle) steps(t *testing.T, name string) (rows [][]float64) {
	t.Helper()
	all, err := storage.Read[float64](o[name])
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(slices.Chunk(all, len(all)/optimizerSteps))
}

// TestOptimizersAreAsInPyTorch after each of 20 steps, in both types; also with hyperparameters in memory, saved and loaded
// in the middle, and with a loss scaler that skips steps.
func TestOptimizersAreAsInPyTorch(t *testing.T) {
	fixture := openFile(t, "testdata/optimizers.npz")
	for _, description := range fixtureOptimizers(fixture) {
		for _, c := range []struct {
			of        dtype.Type
			tolerance float64
		}{{dtype.Float32, 2e-5}, {dtype.Float64, 1e-11}} {
			want := fixture.steps(t, fmt.Sprintf("%s/%v", description, c.of))
			for _, way := range []string{"plain", "captured", "scaled"} {
				r := newFixtureRun(t, fixture, description, storage.CPU, c.of)
				r.captured = way != "plain"
				scale := float32(1)
				if way == "scaled" {
					r.scaler, scale = storage.From([]float32{8, 0, 0, 0}, 4), 8
				}
				for i := range optimizerSteps {
					if way == "scaled" && i%7 == 2 { // an overflow
						state := storage.Elements[float32](r.scaler)
						state[2] = 1
						r.step(i, float32(math.Inf(1)))
						state[2] = 0
						state[3]++
					}
					r.step(i, scale)
					if !r.agree(fmt.Sprintf("%s %v, %s, step %d", description, c.of, way, i+1), want[i], c.tolerance) {
						break
					}
					if way != "scaled" && i%7 == 3 {
						r = r.resumed(fixture, description)
					}
				}
			}
		}
	}
}

// resumed returns a new run with the state of r.
func (r *fixtureRun) resumed(fixture oracle, description string) *fixtureRun {
	r.t.Helper()
	again := newFixtureRun(r.t, fixture, description, r.device, r.of)
	again.captured = r.captured
	for name, p := range r.params {
		again.params[name].Detach().Assign(p.Detach())
	}
	if err := again.o.Load(again.parameters(), r.o.State()); err != nil {
		r.t.Fatalf("%s: %v", description, err)
	}
	return again
}

// TestOptimizersAgreeWithPyTorchOnGPUs for some steps, with hyperparameters in memory.
func TestOptimizersAgreeWithPyTorchOnGPUs(t *testing.T) {
	fixture := openFile(t, "testdata/optimizers.npz")
	gpu := cudatest.Devices(t, cudatest.Deferred)[1]
	for _, description := range fixtureOptimizers(fixture) {
		want := fixture.steps(t, description+"/float32")
		r := newFixtureRun(t, fixture, description, gpu, dtype.Float32)
		r.captured = true
		for i := range 4 {
			r.step(i, 1)
			r.agree(fmt.Sprintf("%s on a GPU, step %d", description, i+1), want[i], 2e-5)
		}
		cudatest.Reset()
	}
}

// TestOptimizersSurviveConfigurations: a described optimizer is built again with the same description.
func TestOptimizersSurviveConfigurations(t *testing.T) {
	fixture := openFile(t, "testdata/optimizers.npz")
	seen := map[string]bool{}
	for _, description := range fixtureOptimizers(fixture) {
		o, err := nn.OptimizerFromConfig(json.RawMessage(description))
		if err != nil {
			t.Fatal(err)
		}
		described, err := nn.DescribeOptimizer(o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := nn.OptimizerFromConfig(described)
		if err != nil {
			t.Errorf("%s described as %v: %v", description, described, err)
			continue
		}
		if twice, _ := nn.DescribeOptimizer(again); canonical(t, twice) != canonical(t, described) {
			t.Errorf("%s described as %v, and again as %v", description, described, twice)
		}
		for name := range described.(map[string]any) {
			seen[name] = true
		}
	}
	for _, r := range nn.Registrations() {
		if r.Kind == "optimizer" && !seen[r.Name] && !strings.HasPrefix(r.Name, "outside") {
			t.Errorf("%s is not in testdata/optimizers.npz", r.Name)
		}
	}
}
