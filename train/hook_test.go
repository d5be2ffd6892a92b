package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// plain is a model without dropout or batch statistics, trained at a constant rate: what it
// learns depends on the samples of each update alone.
const plain = `
data: {file: blobs, x: images, y: labels, normalize: {mean: 20, std: 25}}
model: [flatten, {dense: 12}, tanh, {dense: 4}]
optimizer: {sgd: {lr: 5e-2, momentum: 0.9}}
schedule: constant
seed: 7
classes: 4
`

// fitted returns the run of text on d, trained.
func fitted(t *testing.T, d storage.Device, w mode, text string, o train.Options) *train.Run {
	t.Helper()
	run, data := newRun(t, d, w, text)
	if err := run.Fit(context.Background(), data, o); err != nil {
		t.Fatalf("%s on %v, %v: %v", text, d, w, err)
	}
	return run
}

// nearWeights reports whether the weights of two runs agree to a part in 10000 of their size.
func nearWeights(t *testing.T, got, want *train.Run) bool {
	t.Helper()
	a, b := weightsOf(t, got), weightsOf(t, want)
	for i := range a {
		if !(math.Abs(float64(a[i]-b[i])) <= 1e-4*(1+math.Abs(float64(b[i])))) {
			return false
		}
	}
	return len(a) == len(b)
}

// TestAccumulationIsALargerBatch trains with batches of 8, four to an update, and with
// batches of 32. The last update of an epoch has 8, 8 and 6 samples; with batches of 10
// it has three full ones.
func TestAccumulationIsALargerBatch(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	large := fitted(t, storage.CPU, mode{}, plain+"batch: 32", train.Options{})
	small := fitted(t, storage.CPU, mode{}, plain+"batch: 8", train.Options{})
	if nearWeights(t, small, large) {
		t.Fatal("batches of 8 and of 32 give the same")
	}
	if run := fitted(t, storage.CPU, mode{}, plain+"batch: 8\naccumulate: 4", train.Options{}); !nearWeights(t, run, large) {
		t.Errorf("on the CPU: 4 batches of 8 differ from one of 32")
	}
	for batch, large := range map[int]*train.Run{8: large, 10: fitted(t, storage.CPU, mode{}, plain+"batch: 40", train.Options{})} {
		var want map[string]string
		for _, w := range modes {
			run := fitted(t, gpu, w, fmt.Sprintf("%sbatch: %d\naccumulate: 4", plain, batch), train.Options{})
			if !nearWeights(t, run, large) {
				t.Errorf("%v: 4 batches of %d differ from a large one", w, batch)
			}
			if want == nil {
				want = state(t, run)
			}
			sameState(t, w.String(), state(t, run), want)
		}
	}
}

// TestClippingSeesAccumulatedGradients: both in a configuration make the update of one large
// batch that is clipped.
func TestClippingSeesAccumulatedGradients(t *testing.T) {
	for _, clip := range []string{"clip_norm: 0.02", "clip_value: 0.002"} {
		large := fitted(t, storage.CPU, mode{}, plain+"batch: 32\n"+clip, train.Options{})
		free := fitted(t, storage.CPU, mode{}, plain+"batch: 32\n", train.Options{})
		small := fitted(t, storage.CPU, mode{}, plain+"batch: 8\naccumulate: 4\n"+clip, train.Options{})
		if nearWeights(t, large, free) {
			t.Fatalf("%s changes nothing", clip)
		}
		if !nearWeights(t, small, large) {
			t.Errorf("%s: 4 batches of 8 differ from one of 32", clip)
		}
	}
}

// TestAccumulatingRunsResumeBitByBit interrupts them between updates, too.
func TestAccumulatingRunsResumeBitByBit(t *testing.T) {
	text := strings.Replace(light, "batch: 32", "batch: 16", 1) + "accumulate: 3\nclip_norm: 0.5"
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, c := range []struct {
		d     storage.Device
		w     mode
		stops []uint64
	}{{storage.CPU, mode{}, []uint64{1, 2, 3, 5, 9, 10, 11, 19}}, {gpu, modes[1], []uint64{2, 4, 13}}} {
		want := state(t, fitted(t, c.d, c.w, text, train.Options{}))
		for _, stop := range c.stops {
			run, data := newRun(t, c.d, c.w, text)
			again := interrupted(t, run, data, int(stop))
			again.Config.Graph, again.Config.Data.Resident = c.w.graph, c.w.resident
			if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
				t.Fatal(err)
			}
			sameState(t, fmt.Sprintf("%v, stopped after step %d", c.d, stop), state(t, again), want)
		}
	}
}

// A rateHook collects the learning rate of each step.
type rateHook struct {
	run         *train.Run
	rates, want []float64
}

func (h *rateHook) Gradients(s *train.Step) error {
	done := (float64(s.Epoch) + float64(s.Consumed)/float64(s.EpochSamples)) / float64(h.run.Config.Epochs)
	h.rates, h.want = append(h.rates, h.run.Optimizer.Rate()), append(h.want, 5e-2*(1-done))
	return nil
}

// TestStepsHaveTheRateOfTheirPosition: the rate of a step is the schedule's before it, on
// both devices and after an interruption.
func TestStepsHaveTheRateOfTheirPosition(t *testing.T) {
	text := strings.Replace(plain, "constant", "linear", 1) + "batch: 64\nepochs: 2"
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		whole, data := newRun(t, d, mode{}, text)
		stopped, _ := newRun(t, d, mode{}, text)
		for _, run := range []*train.Run{whole, interrupted(t, stopped, data, 2)} {
			h := &rateHook{run: run}
			steps := 6 - int(run.Position.Step) // 150 samples in batches of 64, twice
			if err := run.Fit(context.Background(), data, train.Options{Hooks: []train.Hook{h}}); err != nil {
				t.Fatal(err)
			}
			for i, want := range h.want {
				if got := h.rates[i]; math.Abs(got-want) > 1e-9 {
					t.Errorf("%v: rate %v of step %d of %d, want %v", d, got, i, steps, want)
				}
			}
			if len(h.rates) != steps {
				t.Errorf("%v: %d steps, want %d", d, len(h.rates), steps)
			}
		}
	}
}

// TestClippedGradients compares one update by plain descent with rate 1, whose change is
// the gradient, with the same update clipped.
func TestClippedGradients(t *testing.T) {
	text := strings.Replace(plain, "{sgd: {lr: 5e-2, momentum: 0.9}}", "{sgd: {lr: 1}}", 1) + "batch: 150\n"
	enough := errors.New("enough")
	update := func(d storage.Device, extra string) (changes []float64) {
		run, data := newRun(t, d, mode{}, text+extra)
		before := weightsOf(t, run)
		err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error { return enough }}}})
		if !errors.Is(err, enough) {
			t.Fatal(err)
		}
		for i, w := range weightsOf(t, run) {
			changes = append(changes, float64(before[i])-float64(w))
		}
		return changes
	}
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		grads, norm := update(d, ""), 0.0
		for _, g := range grads {
			norm += g * g
		}
		norm = math.Sqrt(norm)
		for extra, want := range map[string]func(g float64) float64{
			fmt.Sprintf("clip_norm: %v", norm/3): func(g float64) float64 { return g / 3 },
			fmt.Sprintf("clip_norm: %v", norm*3): func(g float64) float64 { return g },
			"clip_value: 0.01":                   func(g float64) float64 { return max(-0.01, min(0.01, g)) },
			"clip_value: 0.01\nclip_norm: 1e-3":  nil, // in that order
			"clip_norm: 0.05\nprecision: fp16":   func(g float64) float64 { return g * min(1, 0.05/norm) },
			"clip_value: 0.01\nprecision: fp16":  func(g float64) float64 { return max(-0.01, min(0.01, g)) },
		} {
			got, total := update(d, extra), 0.0
			for i, g := range grads {
				total += got[i] * got[i]
				tolerance := 1e-6 + 1e-3*math.Abs(g)
				if strings.Contains(extra, "fp16") {
					tolerance = 2e-3
				}
				if want != nil && !(math.Abs(got[i]-want(g)) <= tolerance) {
					t.Errorf("%v, %s: gradient %v became %v, want %v", d, extra, g, got[i], want(g))
					break
				}
			}
			if want == nil && !(math.Abs(math.Sqrt(total)-1e-3) <= 1e-5) {
				t.Errorf("%v, %s: norm %v", d, extra, math.Sqrt(total))
			}
		}
	}
}

// TestClippingNothingChangesNothing: a limit that is never reached gives the same bits.
func TestClippingNothingChangesNothing(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		for _, precision := range []string{"float32", "fp16"} {
			text := light + "precision: " + precision + "\n"
			want := state(t, fitted(t, d, mode{}, text, train.Options{}))
			got := state(t, fitted(t, d, mode{}, text+"clip_norm: 1e9\nclip_value: 1e9", train.Options{}))
			sameState(t, fmt.Sprintf("%v, %s", d, precision), got, want)
		}
	}
}

// An early hook lists the gradients that it hears of.
type early struct {
	t     *testing.T
	ready map[string]string
	order []string
}

func (e *early) GradientReady(_ *train.Step, g train.Gradient) error {
	if _, again := e.ready[g.Name]; again {
		e.t.Errorf("%s is ready twice", g.Name)
	}
	e.ready[g.Name] = fmt.Sprint(tensor.Values[float32](g.Grad))
	e.order = append(e.order, g.Name)
	return nil
}

func (e *early) Gradients(s *train.Step) error {
	for _, g := range s.Gradients {
		if got, want := e.ready[g.Name], fmt.Sprint(tensor.Values[float32](g.Grad)); got != want {
			e.t.Errorf("%s was ready as %.60s; it is %.60s", g.Name, got, want)
		}
	}
	if len(e.ready) != len(s.Gradients) {
		e.t.Errorf("ready were %v of %d gradients", e.order, len(s.Gradients))
	}
	return errDone
}

var errDone = errors.New("done")

// A twice module applies a layer two times, so that two operations add to its gradients.
type twice struct{ Layer *nn.Linear }

func (m twice) Forward(x *tensor.Tensor) *tensor.Tensor {
	return m.Layer.Forward(m.Layer.Forward(x).Tanh())
}

// TestGradientsAreReadyOnceComplete wants each to be announced once, with its value, and
// those of the last layer first.
func TestGradientsAreReadyOnceComplete(t *testing.T) {
	run, data := newRun(t, storage.CPU, mode{}, plain+"batch: 32")
	layers := run.Model.(nn.Sequential)
	run.Model = nn.Sequential{layers[0], layers[1], twice{nn.NewLinear(nn.LinearOptions{InFeatures: 12, OutFeatures: 12})}, layers[3]}
	e := &early{t: t, ready: map[string]string{}}
	if err := run.Fit(context.Background(), data, train.Options{Hooks: []train.Hook{e}}); !errors.Is(err, errDone) {
		t.Fatal(err)
	}
	if got := strings.Join(e.order, " "); !strings.HasPrefix(got, "3.") || !strings.HasSuffix(got, "1.weight 1.bias") && !strings.HasSuffix(got, "1.bias 1.weight") {
		t.Errorf("ready in the order %s", got)
	}
}

// A looking hook is not capturable.
type looking struct{}

func (looking) Gradients(*train.Step) error { return nil }

// TestHooksThatAreNotCapturableRunWithoutAGraph, which the plan says; where a graph was asked for, that
// is an error.
func TestHooksThatAreNotCapturableRunWithoutAGraph(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	want := state(t, fitted(t, gpu, modes[0], bare, train.Options{}))
	for _, graph := range []config.Choice{"", "yes"} {
		run, data := newRun(t, gpu, mode{"no", graph}, bare)
		var plan train.Plan
		err := run.Fit(context.Background(), data, train.Options{Hooks: []train.Hook{looking{}}, Callbacks: []train.Callback{train.CallbackFuncs{
			OnRunBegin: func(p train.Plan) error { plan = p; return nil },
		}}})
		if asked := graph == "yes"; errors.Is(err, storage.ErrState) != asked || !asked && (err != nil || !strings.Contains(plan.NoGraph, "looking")) {
			t.Errorf("graph %q: error %v, plan %+v", graph, err, plan)
		}
		if graph == "" {
			sameState(t, "with a hook", state(t, run), want)
		}
	}
}

// TestHooksRefuseLimits: a negative limit would train away from the minimum.
func TestHooksRefuseLimits(t *testing.T) {
	one := tensor.Ones(dtype.Float32, 2)
	for _, h := range []train.Hook{
		train.ClipNorm(-1), train.ClipNorm(0), train.ClipNorm(math.Inf(1)), train.ClipNorm(math.NaN()),
		train.ClipValue(-1), train.ClipValue(0), train.ClipValue(math.Inf(1)), train.ClipValue(math.NaN()),
		train.Accumulate(0), train.Accumulate(-2),
	} {
		s := &train.Step{BatchInfo: train.BatchInfo{Samples: 2, Size: 2, EpochSamples: 4}, Gradients: []train.Gradient{{Name: "w", Grad: one}}}
		if err := h.Gradients(s); err == nil || !strings.Contains(err.Error(), "want ") {
			t.Errorf("%T: error %v, want one that says what is allowed", h, err)
		}
	}
	for _, setting := range []string{"clip_norm: .inf", "clip_value: .inf"} {
		if _, err := train.ParseConfig([]byte(light + "\n" + setting)); err == nil {
			t.Errorf("%s: no error", setting)
		}
	}
}
