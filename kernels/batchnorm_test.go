package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func TestBatchNormAgreesHoweverImagesLie(t *testing.T) {
	options := BatchNormOptions{Epsilon: 1e-5, Momentum: 0.1}
	for _, shape := range [][]int{{2, 1}, {7, 5}, {300, 40}, {3, 4, 6, 5}, {2, 33, 9, 7}, {70, 3, 2, 2}, {2, 3, 40, 41}, {4, 3, 11}} {
		for _, lx := range layouts {
			for _, ly := range layouts {
				x, y, c := lx.of(shape...), ly.of(shape...), ly.of(shape[1])
				tight := rowMajorLayout.of(shape[1])
				agree(t, BatchNorm, []views.View{y, c, tight}, []views.View{x, c, c}, options, 1e-4)
				agreeRunning(t, options, x, y, c)
				relu := BatchNormOptions{Epsilon: 1e-5, Momentum: 0.1, ReLU: true}
				agree(t, BatchNorm, []views.View{y, c, tight}, []views.View{x, c, c}, relu, 1e-4)
				agree(t, BatchNormGrad, []views.View{x, c, tight}, []views.View{x, c, y, c, tight, y}, relu, 1e-4)
				agree(t, BatchNormGrad, []views.View{x, c, tight}, []views.View{x, c, y, c, tight}, options, 1e-4)
			}
		}
	}
}

// agreeRunning compares kernels that need variances, which are positive.
func agreeRunning(t *testing.T, options BatchNormOptions, x, y, c views.View) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	variance := func(o operands, i int) {
		for k, v := range storage.Elements[float64](o.f64[i]) {
			storage.Elements[float64](o.f64[i])[k] = math.Abs(v) + 0.5
			storage.Elements[float32](o.f32[i])[k] = float32(math.Abs(v) + 0.5)
		}
	}
	in := operandsOf(r, true, x, c, c, c, c)
	variance(in, 4)
	want, got := operandsOf(r, false, y), operandsOf(r, false, y)
	both(t, BatchNormEval, want, got, in, options)

	in = operandsOf(r, true, x, c, y, c, c)
	variance(in, 4)
	want, got = operandsOf(r, false, x, c, c), operandsOf(r, false, x, c, c)
	both(t, BatchNormEvalGrad, want, got, in, options)

	in = operandsOf(r, true, x, c, c)
	want, got = operandsOf(rand.New(rand.NewPCG(7, 8)), true, y, c, c, c, c), operandsOf(rand.New(rand.NewPCG(7, 8)), true, y, c, c, c, c)
	both(t, BatchNorm, want, got, in, options)
}

func both(t *testing.T, k *Kernel, want, got, in operands, options any) {
	t.Helper()
	if err := k.Reference(&Call{Out: want.f64, In: in.f64, Options: options}); err != nil {
		t.Fatal(err)
	}
	if err := CPU.Run(k, &Call{Out: got.f32, In: in.f32, Options: options}); err != nil {
		t.Fatal(err)
	}
	for i := range want.f64 {
		compare(t, k.Name, wide32(got.f32[i]), storage.Elements[float64](want.f64[i]), 2e-4)
	}
}

func TestBatchNormSurvivesLargeMeans(t *testing.T) {
	const mean = 1e9 // whose square hides the variance from a float64
	x := []float64{mean + 0.5, mean + 1, mean, mean - 0.5, mean + 1.5, mean - 1}
	var y, saved, invstd [6]float64
	err := CPU.Run(BatchNorm, &Call{
		Out: []storage.Array{storage.From(y[:], 6, 1), storage.From(saved[:1], 1), storage.From(invstd[:1], 1)},
		In:  []storage.Array{storage.From(x, 6, 1), storage.From([]float64{1}, 1), storage.From([]float64{0}, 1)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := 1 / math.Sqrt(4.375/6) // of the differences 0.25, 0.75, -0.25, -0.75, 1.25, -1.25
	if got := invstd[0]; math.Abs(got-want) > 1e-6 {
		t.Errorf("1/std is %v, want %v", got, want)
	}
}

func TestBatchNormRefusesWhatHasNoVariance(t *testing.T) {
	one := storage.From(make([]float32, 3), 3)
	err := CPU.Run(BatchNorm, &Call{Out: []storage.Array{storage.From(make([]float32, 3), 1, 3), one, one}, In: []storage.Array{storage.From(make([]float32, 3), 1, 3), one, one}})
	if err == nil {
		t.Error("one value in each channel was normalised")
	}
}

// TestBatchNormReLUIsBoth compares batch norm with a relu with the two kernels, one after the other.
func TestBatchNormReLUIsBoth(t *testing.T) {
	x, dy, c := dense(views.ChannelsLast(3, 20, 5, 4)), dense(views.ChannelsLast(3, 20, 5, 4)), dense(views.Of(20))
	run := func(k *Kernel, out, in []storage.Array, relu bool) {
		must(CPU.Run(k, &Call{Out: out, In: in, Options: BatchNormOptions{Epsilon: 1e-5, ReLU: relu}}))
	}
	like := func(a storage.Array) storage.Array { return dense(a.View) }
	y, want, mean, invstd := like(x), like(x), like(c), like(c)
	run(BatchNorm, []storage.Array{y, mean, invstd}, []storage.Array{x, c, c}, true)
	run(BatchNorm, []storage.Array{want, like(c), like(c)}, []storage.Array{x, c, c}, false)
	must(CPU.Run(ReLU, &Call{Out: []storage.Array{want}, In: []storage.Array{want}}))
	near(t, "y", y, want, 0)
	zeros := 0
	for _, v := range storage.Elements[float32](y) {
		if v == 0 {
			zeros++
		}
	}
	if zeros == 0 || zeros == y.Len() {
		t.Fatalf("%d of %d results are 0", zeros, y.Len())
	}
	got, separate := []storage.Array{like(x), like(c), like(c)}, []storage.Array{like(x), like(c), like(c)}
	run(BatchNormGrad, got, []storage.Array{x, c, dy, mean, invstd, y}, true)
	dz := like(x)
	must(CPU.Run(ReLUGrad, &Call{Out: []storage.Array{dz}, In: []storage.Array{y, dy}}))
	run(BatchNormGrad, separate, []storage.Array{x, c, dz, mean, invstd}, false)
	for i := range got {
		near(t, "gradient", got[i], separate[i], 0)
	}
}
