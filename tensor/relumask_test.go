package tensor_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestReLUMasks: where cuBLASLt computes linear layers, the product that is the gradient of a hidden layer's result
// is also that of its ReLU, unless something else uses the result, or a dropout follows, or the library has no such
// algorithm, as this fake has none for sums of 19. The gradients are those of the CPU.
func TestReLUMasks(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	const relu, none = tensor.ReLUActivation, tensor.NoActivation
	layer := func(h *tensor.Tensor, p []*tensor.Tensor, act tensor.Activation) *tensor.Tensor {
		return tensor.Linear(h, p[0], p[1], act)
	}
	hidden := func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor {
		return layer(layer(x, p[0], relu), p[1], relu)
	}
	for _, c := range []struct {
		name   string
		widths [4]int
		model  func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor
		apart  int // launches that differentiate an activation apart from a product
	}{
		{"two hidden layers", [4]int{5, 8, 6, 3}, func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor { return layer(hidden(x, p), p[2], none) }, 0},
		{"a ReLU last", [4]int{5, 8, 6, 3}, func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor { return layer(hidden(x, p), p[2], relu) }, 1},
		{"tanh last", [4]int{5, 8, 130, 3}, func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor {
			return layer(hidden(x, p), p[2], tensor.TanhActivation)
		}, 1},
		{"a result that is used twice", [4]int{5, 8, 6, 3}, func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor {
			h := hidden(x, p)
			return layer(h, p[2], none).Add(h.Sum())
		}, 1},
		{"a dropout", [4]int{5, 8, 6, 3}, func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor {
			return layer(hidden(x, p).Dropout(0.5, tensor.Key{Seed: 1, Stream: 2}), p[2], none)
		}, 1},
		{"a dropout last", [4]int{5, 8, 6, 3}, func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor {
			return layer(hidden(x, p), p[2], relu).Dropout(0.5, tensor.Key{Seed: 1, Stream: 2})
		}, 1},
		{"without biases", [4]int{5, 8, 6, 3}, func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor {
			h := tensor.Linear(tensor.Linear(x, p[0][0], nil, relu), p[1][0], nil, relu)
			return layer(h, p[2], none).Add(p[0][1].Sum()).Add(p[1][1].Sum())
		}, 0},
		{"checkpointed", [4]int{5, 8, 6, 3}, func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor {
			return tensor.Checkpoint(func(xs ...*tensor.Tensor) *tensor.Tensor { return layer(hidden(xs[0], p), p[2], none) }, x)
		}, 0},
		{"no mask of the first layer", [4]int{19, 8, 6, 3}, func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor { return layer(hidden(x, p), p[2], none) }, 1},
		{"no gradient by a mask", [4]int{5, 8, 6, 19}, func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor { return layer(hidden(x, p), p[2], none) }, 1},
	} {
		for _, e := range []dtype.Type{dtype.Float32, dtype.BFloat16} {
			t.Run(fmt.Sprintf("%v %s", e, c.name), func(t *testing.T) {
				defer cudatest.Reset()
				want, _ := gradientsOf(t, storage.CPU, dtype.Float64, c.widths, c.model)
				cudatest.UseLibraries(t, d)
				got, apart := gradientsOf(t, d, e, c.widths, c.model)
				if apart != c.apart {
					t.Errorf("%d launches differentiate an activation apart from a product, want %d", apart, c.apart)
				}
				compareGradients(t, got, want, map[dtype.Type]float64{dtype.Float32: 1e-5, dtype.BFloat16: 0.2}[e])
			})
		}
	}
}

// TestReLUMasksOfRepeatedBackwardPasses: a graph that is kept gives the same gradients again, those of a hidden result
// too, and second derivatives are those of the CPU.
func TestReLUMasksOfRepeatedBackwardPasses(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	cudatest.UseLibraries(t, d)
	var all [2][][]float64
	for i, device := range []storage.Device{storage.CPU, d} {
		p := parameters(t, device, dtype.Float32, [4]int{5, 8, 6, 3})
		x := p[3][0]
		h := tensor.Linear(x, p[0][0], p[0][1], tensor.ReLUActivation)
		y := tensor.Linear(h, p[1][0], p[1][1], tensor.TanhActivation).Sum()
		ys, leaves := []*tensor.Tensor{y}, []*tensor.Tensor{p[0][0], p[0][1], p[1][0]}
		for range 2 {
			all[i] = append(all[i], read(t, tensor.Grad(ys, leaves, tensor.GradOptions{RetainGraph: true}))...)
		}
		all[i] = append(all[i], read(t, tensor.Grad(ys, append(leaves, h), tensor.GradOptions{RetainGraph: true}))...)
		first := tensor.Grad(ys, leaves[:1], tensor.GradOptions{CreateGraph: true})[0]
		all[i] = append(all[i], read(t, tensor.Grad([]*tensor.Tensor{first.Mul(first).Sum()}, leaves, tensor.GradOptions{}))...)
	}
	compareGradients(t, all[1], all[0], 1e-5)
}

// gradientsOf returns the gradients of all parameters of a model of three linear layers, and how many launches
// differentiated an activation, by itself or with a bias.
func gradientsOf(t *testing.T, d storage.Device, e dtype.Type, widths [4]int, model func(x *tensor.Tensor, p [][]*tensor.Tensor) *tensor.Tensor) (grads [][]float64, apart int) {
	t.Helper()
	p := parameters(t, d, e, widths)
	before := cudatest.LaunchCounts()
	if err := tensor.Step(func(tape *tensor.Tape) error {
		y := model(tape.Input(p[3][0].Array()), p)
		of := tensor.Gradients(y.Mul(y).Mean())
		for _, layer := range p[:3] {
			grads = append(grads, read(t, []*tensor.Tensor{of[layer[0]], of[layer[1]]})...)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for name, n := range cudatest.LaunchCounts() {
		if strings.HasPrefix(name, "act_grad") || strings.HasPrefix(name, "relu_grad") || strings.HasPrefix(name, "tanh_grad") {
			apart += n - before[name]
		}
	}
	return grads, apart
}

// parameters returns the weights and biases of three linear layers, and their input, with the same values on all devices.
func parameters(t *testing.T, d storage.Device, e dtype.Type, widths [4]int) (all [][]*tensor.Tensor) {
	t.Helper()
	draw := func(seed uint64, shape ...int) *tensor.Tensor {
		a, err := tensor.Key{Seed: seed}.Randn(dtype.BFloat16, shape...).Cast(e).Array().To(d)
		if err != nil {
			t.Fatal(err)
		}
		return tensor.Leaf(a)
	}
	for i, in := range widths[:3] {
		out := widths[i+1]
		all = append(all, []*tensor.Tensor{draw(uint64(2*i), out, in), draw(uint64(2*i+1), out)})
	}
	return append(all, []*tensor.Tensor{draw(9, 7, widths[0])})
}

// read returns the elements of tensors.
func read(t *testing.T, tensors []*tensor.Tensor) (all [][]float64) {
	t.Helper()
	for _, x := range tensors {
		values, err := storage.Read[float64](x.Array())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, values)
	}
	return all
}

// compareGradients compares within tolerance, relative to the largest element of each.
func compareGradients(t *testing.T, got, want [][]float64, tolerance float64) {
	t.Helper()
	for i := range want {
		scale := 0.0
		for _, v := range want[i] {
			scale = max(scale, math.Abs(v))
		}
		if scale == 0 {
			t.Errorf("gradient %d is all zeros", i)
		}
		for k, v := range want[i] {
			if !(math.Abs(got[i][k]-v) <= tolerance*scale) {
				t.Errorf("gradient %d, element %d: %v, want %v", i, k, got[i][k], v)
				break
			}
		}
	}
}
