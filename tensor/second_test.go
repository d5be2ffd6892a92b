package tensor_test

import (
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestConv1dBiasSecondDerivatives compares with PyTorch 2.15 in float64: y = act(conv1d(x, w, b, padding 1)) of
// x = sin 1, sin 2, … (2, 3, 8), w = cos 1, cos 2, … (4, 3, 3) and b = sin 1, … (4); g is the gradient of Σ y
// with respect to b, and h that of Σ g².
func TestConv1dBiasSecondDerivatives(t *testing.T) {
	for _, c := range []struct {
		act  tensor.Activation
		g, h []float64
	}{
		{tensor.GELUTanhActivation, []float64{9.96337687152, 11.8713192199, 6.37990707612, 7.10736820566}, []float64{91.2993436444, 57.890533132, 32.7510973781, 53.2805938431}},
		{tensor.GELUActivation, []float64{9.96017629605, 11.8696261976, 6.37921107518, 7.10650170322}, []float64{91.2427598311, 58.0243270933, 32.7494641342, 53.2671705084}},
		{tensor.SiLUActivation, []float64{10.5934609678, 12.0398294824, 7.10317179229, 6.65738656174}, []float64{82.7631722818, 72.8313438278, 49.4672715488, 50.1755647453}},
	} {
		for float, tolerance := range map[dtype.Type]float64{dtype.Float64: 1e-10, dtype.Float32: 5e-6} {
			for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
				sequence := func(f func(float64) float64, shape ...int) *tensor.Tensor {
					x := tensor.Arange(dtype.Float64, 1, float64(1+tensor.Zeros(dtype.Float64, shape...).Len()), 1)
					elems := storage.Elements[float64](x.Array())
					for i := range elems {
						elems[i] = f(elems[i])
					}
					a, err := x.Cast(float).Reshape(shape...).Array().To(d)
					if err != nil {
						t.Fatal(err)
					}
					return tensor.FromArray(a).RequireGrad()
				}
				x, w, b := sequence(math.Sin, 2, 3, 8), sequence(math.Cos, 4, 3, 3), sequence(math.Sin, 4)
				y := tensor.Conv(x, w, b, tensor.ConvOptions{Padding: tensor.Pad(1), Act: c.act}).Sum()
				g := tensor.Grad([]*tensor.Tensor{y}, []*tensor.Tensor{b}, tensor.GradOptions{CreateGraph: true})[0]
				h := tensor.Grad([]*tensor.Tensor{g.Mul(g).Sum()}, []*tensor.Tensor{b}, tensor.GradOptions{})[0]
				for name, pair := range map[string]struct {
					got  *tensor.Tensor
					want []float64
				}{"first": {g, c.g}, "second": {h, c.h}} {
					there, err := pair.got.Cast(dtype.Float64).Array().To(storage.CPU)
					if err != nil {
						t.Fatal(err)
					}
					for i, got := range storage.Elements[float64](there) {
						if want := pair.want[i]; !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
							t.Errorf("%v, %v on %v: element %d of the %s derivative is %v, want %v", c.act, float, d, i, name, got, want)
						}
					}
				}
			}
		}
	}
}

// TestMaxWithIndexOfNaN: as in PyTorch, a NaN is the largest element, and the first of several.
func TestMaxWithIndexOfNaN(t *testing.T) {
	nan := math.NaN()
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		a, err := storage.From([]float64{1, nan, 3, nan, 2, 5, 5, 4, math.Inf(-1), math.Inf(-1), math.Inf(-1), math.Inf(-1)}, 3, 4).To(d)
		if err != nil {
			t.Fatal(err)
		}
		before := cudatest.LaunchCounts()
		values, index := tensor.FromArray(a).MaxWithIndex(1)
		where, err := storage.Read[int64](index.Array())
		if err != nil {
			t.Fatal(err)
		}
		largest, err := storage.Read[float64](values.Array())
		if err != nil {
			t.Fatal(err)
		}
		if d != storage.CPU && !cudatest.RealGPU() {
			if n := cudatest.LaunchCounts()["max_with_index_f64"] - before["max_with_index_f64"]; n != 1 {
				t.Errorf("%d launches, want one", n)
			}
		}
		if where[0] != 1 || where[1] != 1 || where[2] != 0 || !math.IsNaN(largest[0]) || largest[1] != 5 || !math.IsInf(largest[2], -1) {
			t.Errorf("on %v: %v at %v; want NaN, 5 and -Inf at 1, 1 and 0", d, largest, where)
		}
	}
}

// TestClippingIsFewLaunches: as many as a launch takes parameters at once, and of the norm one for the factor. ResNet-18 has
// 62 parameters, ViT-B/16 has 152.
func TestClippingIsFewLaunches(t *testing.T) {
	cudatest.SkipKernels(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for parameters, most := range map[int][2]int{62: {3, 1}, 152: {7, 3}} {
		gradients := make([]*tensor.Tensor, parameters)
		for i := range gradients {
			a, err := tensor.Ones(dtype.Float32, 1+i%7, 3).Array().To(d)
			if err != nil {
				t.Fatal(err)
			}
			gradients[i] = tensor.FromArray(a)
		}
		for i, clip := range []func(){func() { tensor.ClipGradNorm(gradients, 0.5, nil) }, func() { tensor.ClipGradValue(gradients, 0.5, nil) }} {
			before := total(cudatest.LaunchCounts())
			clip()
			if err := d.Sync(); err != nil {
				t.Fatal(err)
			}
			if got := total(cudatest.LaunchCounts()) - before; got > most[i] || got < 1 {
				t.Errorf("%s of %d parameters: %d launches, want at most %d", []string{"norm", "value"}[i], parameters, got, most[i])
			}
		}
	}
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}
