package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// tiny has every kind of layer that depends on the precision, and few units.
const tiny = `
data: {file: blobs, x: images, y: labels}
model:
  - conv2d: {out_channels: 2, kernel_size: 3, stride: 2}
  - relu
  - batchnorm2d: {num_features: 2}
  - maxpool2d: 3
  - flatten
  - dropout: 0.1
  - dense: 4
optimizer: {adam: {lr: 2e-2}}
batch: 50
seed: 7
precision: `

// TestLowPrecisionLearns trains in bfloat16 and in float16 on the CPU and on a
// GPU: near float32, near each other, and not the same.
func TestLowPrecisionLearns(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	losses := map[string][]float64{}
	for _, precision := range []string{"float32", "bf16", "fp16"} {
		for _, d := range []storage.Device{storage.CPU, gpu} {
			w := mode{}
			run, data := newRun(t, d, w, tiny+precision)
			if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
				t.Fatalf("%s on %v: %v", precision, d, err)
			}
			losses[fmt.Sprint(precision, " on ", d)] = run.History["loss"]
		}
	}
	full := losses["float32 on cpu"]
	for about, got := range losses {
		// 8 bits of a bfloat16's fraction are kept, 11 of a float16's; 6 steps add up.
		tolerance := map[bool]float64{true: 0.02, false: 0.004}[strings.HasPrefix(about, "bf16")]
		for i := range full {
			if !(math.Abs(got[i]-full[i]) <= tolerance*full[i]) {
				t.Errorf("%s: loss of epoch %d is %v; of float32 on the CPU %v", about, i+1, got[i], full[i])
			}
		}
		if got[1] >= got[0] {
			t.Errorf("%s: losses %v, want them to fall", about, got)
		}
		if same := slices.Equal(got, full); !strings.HasPrefix(about, "float32") && same != (about == "bf16 on cpu") { // where small products gain nothing
			t.Errorf("%s: is it that of float32, bit by bit: %v", about, same)
		}
	}
}

// TestBF16OnProcessors trains a model whose products gain by bfloat16: near float32, the same bits with 1 and 2 threads and after
// an interruption, and a note where the processor has no such products.
func TestBF16OnProcessors(t *testing.T) {
	const wide = `
data: {file: blobs, x: images, y: labels}
model: [flatten, {dense: 512}, relu, {dense: 1024}, relu, {dense: 4}]
optimizer: {adam: {lr: 1e-3}}
batch: 50
seed: 7
precision: `
	defer native.SetThreads(native.Threads())
	fit := func(precision string, threads int) *train.Run {
		native.SetThreads(threads)
		run, data := newRun(t, storage.CPU, mode{}, wide+precision)
		var notes []string
		if err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnRunBegin: func(p train.Plan) error {
			notes = p.Fallbacks
			return nil
		}}}}); err != nil {
			t.Fatal(err)
		}
		if want := precision == "bf16" && !native.BF16(); want != (len(notes) == 1 && strings.Contains(notes[0], "no products of bfloat16")) {
			t.Errorf("%s: notes %q; want one about bfloat16: %v", precision, notes, want)
		}
		return run
	}
	full, rounded := fit("float32", 2), fit("bf16", 2)
	for i, want := range full.History["loss"] {
		if got := rounded.History["loss"][i]; got == want || math.Abs(got-want) > 0.02*want {
			t.Errorf("epoch %d: loss %v; want about %v, and not the same", i+1, got, want)
		}
	}
	sameState(t, "1 thread", state(t, fit("bf16", 1)), state(t, rounded))
	native.SetThreads(2)
	run, data := newRun(t, storage.CPU, mode{}, wide+"bf16")
	again := interrupted(t, run, data, 2)
	if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	sameState(t, "interrupted", state(t, again), state(t, rounded))
}

// TestLibrariesTrain trains with cuBLASLt and cuDNN, also in graphs: close to the CPU, with
// tf32 less close.
func TestLibrariesTrain(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	cudatest.UseLibraries(t, gpu)
	losses := map[string][]float64{}
	for name, d := range map[string]storage.Device{"cpu float32": storage.CPU, "libraries float32": gpu, "libraries tf32": gpu} {
		_, precision, _ := strings.Cut(name, " ")
		w := mode{}
		if d != storage.CPU {
			w.graph = "yes"
		}
		run, data := newRun(t, d, w, tiny+precision)
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		losses[name] = run.History["loss"]
	}
	for i, want := range losses["cpu float32"] {
		single, rounded := losses["libraries float32"][i], losses["libraries tf32"][i]
		if math.Abs(single-want) > 1e-4*want || math.Abs(rounded-want) > 4e-3*want || rounded == single {
			t.Errorf("epoch %d: %v by libraries, %v with tf32; want %v nearly, and not the same", i+1, single, rounded, want)
		}
	}
}

// TestScaledRunsResumeBitByBit: the state of the loss scaler is part of a run. The GPU
// resumes in another mode.
func TestScaledRunsResumeBitByBit(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		w, next := mode{}, mode{}
		if d != storage.CPU {
			w, next = modes[1], modes[2]
		}
		whole, data := newRun(t, d, w, tiny+"fp16")
		if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		want := state(t, whole)
		run, data := newRun(t, d, w, tiny+"fp16")
		again := interrupted(t, run, data, 2)
		again.Config.Graph, again.Config.Data.Resident = next.graph, next.resident
		if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		sameState(t, d.String(), state(t, again), want)
	}
}

// TestInvalidLossScalesAreRefused: a run file may hold any number.
func TestInvalidLossScalesAreRefused(t *testing.T) {
	for _, scale := range []float32{0, -1, float32(math.Inf(1)), float32(math.NaN())} {
		run, _ := newRun(t, storage.CPU, mode{}, tiny+"fp16")
		storage.Elements[float32](train.ScaleOf(run))[0] = scale
		file := filepath.Join(t.TempDir(), "run.npz")
		if err := train.Save(file, run); err != nil {
			t.Fatal(err)
		}
		if _, err := train.Resume(file, storage.CPU); !errors.Is(err, serialize.ErrFormat) {
			t.Errorf("a scale of %v: error %v", scale, err)
		}
	}
}

// TestOverflowSkipsSteps begins with a scale that overflows float16: parameters do not
// change until it is small enough.
func TestOverflowSkipsSteps(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		run, data := newRun(t, d, mode{}, strings.Replace(tiny, "batch: 50", "batch: 15", 1)+"fp16")
		if err := storage.From([]float32{1 << 24, 0, 0, 0}, 4).CopyTo(train.ScaleOf(run)); err != nil {
			t.Fatal(err)
		}
		before, moved := fmt.Sprint(weightsOf(t, run)), 0
		err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
			if moved == 0 && fmt.Sprint(weightsOf(t, run)) != before {
				moved = int(run.Position.Step)
			}
			return nil
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		scale, err := storage.Read[float32](train.ScaleOf(run))
		if err != nil {
			t.Fatal(err)
		}
		if moved < 3 || moved > 12 || scale[0] != float32(int(1)<<(25-moved)) {
			t.Errorf("%v: step %d was the first that moved anything, and the scale is %v; want one halving for each before", d, moved, scale[0])
		}
		if loss := run.History["loss"]; loss[1] >= loss[0] {
			t.Errorf("%v: losses %v, want them to fall", d, loss)
		}
	}
}

// TestVanishingLossScalesEndTheRun begins with the smallest scale, after a step whose
// gradients were not finite.
func TestVanishingLossScalesEndTheRun(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		run, data := newRun(t, d, mode{}, tiny+"fp16")
		if err := storage.From([]float32{0x1p-126, 0, 1, 140}, 4).CopyTo(train.ScaleOf(run)); err != nil {
			t.Fatal(err)
		}
		err := run.Fit(context.Background(), data, train.Options{})
		if err == nil || !strings.Contains(err.Error(), "however little their loss is scaled") {
			t.Errorf("%v: error %v", d, err)
		}
	}
}

func weightsOf(t *testing.T, r *train.Run) (all []float32) {
	t.Helper()
	for _, p := range nn.Parameters(r.Model) {
		all = append(all, tensor.Values[float32](p.Tensor)...)
	}
	return all
}

func TestUnknownPrecisionsAreRefused(t *testing.T) {
	if _, err := train.ParseConfig([]byte(tiny + "int4")); err == nil || !strings.Contains(err.Error(), `no precision "int4"; want float32, tf32, bf16 or fp16`) {
		t.Errorf("error %v", err)
	}
}
