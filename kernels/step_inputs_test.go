package kernels

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestHyperparametersReplaceOptions: an update that reads hyperparameters from memory does
// the same as with the options that they are from, whatever other options it is given.
func TestHyperparametersReplaceOptions(t *testing.T) {
	grad := []float32{0.5, -2, 3}
	after := func(k *Kernel, options any, outs int, args ...storage.Array) []float32 {
		t.Helper()
		p := []float32{1, 2, 3}
		out := []storage.Array{storage.From(p, 3)}
		for range outs - 1 {
			out = append(out, storage.From([]float32{0.1, 0.2, 0.3}, 3))
		}
		must(CPU.Run(k, &Call{Out: out, In: append([]storage.Array{storage.From(grad, 3)}, args...), Options: options}))
		return p
	}
	list := func(d []float64) storage.Array { return storage.From(d, len(d)) }
	sgd := SGDOptions{Rate: 0.1, Momentum: 0.9}
	adam := AdamOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-3, Decay: 0.1, Decoupled: true, Step: 7}
	other := adam
	other.Rate, other.Step = 3, 1
	for _, c := range []struct {
		k              *Kernel
		options, other any
		outs           int
		args           []float64
	}{
		{SGD, sgd, SGDOptions{Rate: 3, Momentum: 0.9}, 2, sgd.Hyperparameters()},
		{Adam, adam, other, 3, adam.Hyperparameters()},
	} {
		want := after(c.k, c.options, c.outs)
		if got := after(c.k, c.other, c.outs, list(c.args)); !slices.Equal(got, want) {
			t.Errorf("%s with hyperparameters in memory gives %v, want %v", c.k.Name, got, want)
		}
		if got := after(c.k, c.other, c.outs, list(c.args), storage.From([]float32{1024, 0, 1, 0}, 4)); !slices.Equal(got, []float32{1, 2, 3}) {
			t.Errorf("%s of a bad gradient gives %v, want no change", c.k.Name, got)
		}
		for i := range grad {
			grad[i] *= 1024
		}
		if got := after(c.k, c.other, c.outs, list(c.args), storage.From([]float32{1024, 0, 0, 0}, 4)); !closeTo(got, want) {
			t.Errorf("%s of a gradient times 1024 gives %v, want %v", c.k.Name, got, want)
		}
		for i := range grad {
			grad[i] /= 1024
		}
	}
}

func closeTo(got, want []float32) bool {
	return slices.EqualFunc(got, want, func(g, w float32) bool { return math.Abs(float64(g-w)) < 1e-6 })
}

// TestLossScalersFollowOverflow takes a loss scaler through finite and infinite steps.
func TestLossScalersFollowOverflow(t *testing.T) {
	scaler := storage.From(NewScalerState(), scalerSize)
	step := func(grads ...float32) []float32 {
		must(CPU.Run(FindInf, &Call{Out: []storage.Array{scaler}, In: []storage.Array{storage.From(grads, len(grads))}}))
		must(CPU.Run(UpdateScale, &Call{Out: []storage.Array{scaler}, Options: UpdateScaleOptions{GrowthInterval: 2}}))
		return slices.Clone(storage.Elements[float32](scaler))
	}
	inf := float32(math.Inf(-1))
	for i, c := range []struct{ grads, want []float32 }{
		{[]float32{1, 2}, []float32{65536, 1, 0, 0}},
		{[]float32{1, inf}, []float32{32768, 0, 0, 1}},
		{[]float32{inf - inf, 3}, []float32{16384, 0, 0, 2}},
		{[]float32{1}, []float32{16384, 1, 0, 2}},
		{[]float32{1}, []float32{32768, 0, 0, 2}},
	} {
		if got := step(c.grads...); !slices.Equal(got, c.want) {
			t.Errorf("step %d: scaler %v, want %v", i, got, c.want)
		}
	}
}

// TestScalesEnd wants a scale to be halved as long as its reciprocal is finite, and the
// loss scaler then to stay bad.
func TestScalesEnd(t *testing.T) {
	scaler := storage.From([]float32{0x1p-124, 5, 0, 0}, scalerSize)
	for i, want := range []bool{false, false, true, true} {
		must(CPU.Run(FindInf, &Call{Out: []storage.Array{scaler}, In: []storage.Array{storage.From([]float32{float32(math.Inf(1))}, 1)}}))
		must(CPU.Run(UpdateScale, &Call{Out: []storage.Array{scaler}, Options: UpdateScaleOptions{GrowthInterval: 2}}))
		if stuck, err := ScalerIsStuck(scaler); stuck != want || err != nil {
			t.Errorf("bad step %d: stuck is %v, error %v; scaler %v", i+1, stuck, err, storage.Elements[float32](scaler))
		}
	}
	if g := storage.Elements[float32](scaler); math.IsInf(float64(1/g[scalerScale]), 0) {
		t.Errorf("scaler %v: no number can undo its scale", g)
	}
}

// TestAdamDoesNotCountWhatItLeftOut wants an update after steps that were left out to
// be the one that there would have been without them.
func TestAdamDoesNotCountWhatItLeftOut(t *testing.T) {
	after := func(step int, left float32) []float32 {
		p := []float32{1, 2, 3}
		options := AdamOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-3, Decay: 0.1, Decoupled: true, Step: step}
		hyper := options.Hyperparameters()
		in := []storage.Array{storage.From([]float32{0.5, -2, 3}, 3), storage.From(hyper, len(hyper)), storage.From([]float32{1, 0, 0, left}, scalerSize)}
		out := []storage.Array{storage.From(p, 3), storage.From([]float32{0.1, 0.2, 0.3}, 3), storage.From([]float32{0.1, 0.2, 0.3}, 3)}
		must(CPU.Run(Adam, &Call{Out: out, In: in, Options: AdamOptions{Rate: 9, Beta1: 0.9, Beta2: 0.99, Eps: 1e-3, Decay: 0.1, Decoupled: true, Step: 1}}))
		return p
	}
	if got, want, counted := after(9, 4), after(5, 0), after(9, 0); !closeTo(got, want) || closeTo(got, counted) {
		t.Errorf("the ninth step, four left out: %v; the fifth: %v; the ninth: %v", got, want, counted)
	}
}

func TestStepsAddUp(t *testing.T) {
	sums := storage.From(make([]float64, MetricsSize), MetricsSize)
	for i, loss := range []float32{0.5, 2, float32(math.NaN()), 1} {
		in := []storage.Array{storage.From([]float32{loss}), storage.From([]int64{int64(i)}), storage.From([]int64{2})}[:2+i%2]
		must(CPU.Run(AddMetrics, &Call{Out: []storage.Array{sums}, In: in, Options: MetricsOptions{Samples: 8}}))
		if i == 1 && !slices.Equal(storage.Elements[float64](sums), []float64{20, 1, 2, 0, 2}) {
			t.Errorf("after two steps %v", storage.Elements[float64](sums))
		}
	}
	if got := storage.Elements[float64](sums); !math.IsNaN(got[MetricLossSum]) || got[MetricCorrect] != 6 || got[MetricSteps] != 4 || got[MetricFirstNonFinite] != 3 || got[MetricIgnored] != 4 {
		t.Errorf("got %v; want 6 correct, 4 ignored, 4 steps, the third not finite", got)
	}
}

func TestTakingRows(t *testing.T) {
	x := storage.From([]uint8{0, 1, 2, 3, 4, 5}, 3, 2)
	y := storage.From(make([]uint8, 8), 4, 2)
	take := func(rows ...int64) error {
		index := storage.From(rows, len(rows)).With(views.View{Shape: []int{len(rows), 2}, Stride: []int{1, 0}})
		return CPU.Run(Gather, &Call{Out: []storage.Array{y}, In: []storage.Array{x, index}})
	}
	must(take(2, 0, 0, 1))
	if got, want := storage.Elements[uint8](y), []uint8{4, 5, 0, 1, 0, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, rows := range [][]int64{{0, 0, 3, 0}, {0, -1, 0, 0}, {0, 0}} {
		if err := take(rows...); !errors.Is(err, views.ErrShape) {
			t.Errorf("rows %v: error %v; want one of shape", rows, err)
		}
	}
}

func TestStepArgumentsAreChecked(t *testing.T) {
	p := func() storage.Array { return storage.From([]float32{1, 2}, 2) }
	for _, in := range [][]storage.Array{
		{p(), storage.From([]float32{1}, 1)},
		{p(), storage.From([]float64{1, 2}, 2)},
		{p(), storage.From([]float64{1}, 1), storage.From([]float64{1, 2, 3}, 3)},
		{p(), storage.From([]float64{1}, 1), storage.From([]float32{1, 2, 3}, 3), p()},
	} {
		if err := CPU.Run(SGD, &Call{Out: []storage.Array{p()}, In: in, Options: SGDOptions{Rate: 1}}); !errors.Is(err, views.ErrShape) {
			t.Errorf("inputs %v: error %v; want one of shape", in[1:], err)
		}
	}
	if err := CPU.Run(Dropout, &Call{Out: []storage.Array{p()}, In: []storage.Array{p(), storage.From([]int64{1})}}); !errors.Is(err, views.ErrShape) {
		t.Errorf("dropout with a stream of int64: error %v", err)
	}
	if err := CPU.Run(Gather, &Call{Out: []storage.Array{p()}, In: []storage.Array{p(), storage.From([]int32{1, 0}, 2)}}); !errors.Is(err, dtype.ErrType) {
		t.Errorf("rows of int32: error %v", err)
	}
}
