package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestUnknownActivations are errors of every operation that applies one.
func TestUnknownActivations(t *testing.T) {
	ones := func(shape ...int) *tensor.Tensor { return tensor.Ones(dtype.Float32, shape...) }
	for _, act := range []tensor.Activation{-1, 99} {
		for name, f := range map[string]func(){
			"linear": func() { tensor.Linear(ones(1, 4), ones(3, 4).RequireGrad(), nil, act) },
			"conv":   func() { tensor.Conv(ones(1, 1, 4), ones(1, 1, 2), nil, tensor.ConvOptions{Act: act}) },
			"conv transpose": func() {
				tensor.ConvTranspose(ones(1, 1, 4), ones(1, 1, 2), nil, tensor.ConvTransposeOptions{ConvOptions: tensor.ConvOptions{Act: act}})
			},
			"batch norm": func() {
				one := ones(1)
				tensor.BatchNorm(ones(3, 1), one, one, tensor.BatchNormOptions{RunningMean: one.Array(), RunningVar: one.Array(), Act: act})
			},
		} {
			if err := tensor.Try(f); !errors.Is(err, storage.ErrState) {
				t.Errorf("%s with activation %d: error %v", name, act, err)
			}
		}
	}
}

func TestFromChecksTheNumberOfElements(t *testing.T) {
	if err := tensor.Try(func() { tensor.FromSlice([]float32{1, 2}, 3) }); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("error %v", err)
	}
}

// TestFusedIsTheSameAsApart compares every operation that applies activations with the
// operation and then the activation: the result, the gradients and, on the CPU, second
// derivatives. Where nothing is recorded the result is the same, too.
func TestFusedIsTheSameAsApart(t *testing.T) {
	apart := map[tensor.Activation]func(x *tensor.Tensor) *tensor.Tensor{
		tensor.NoActivation:   func(x *tensor.Tensor) *tensor.Tensor { return x },
		tensor.ReLUActivation: (*tensor.Tensor).ReLU, tensor.TanhActivation: (*tensor.Tensor).Tanh, tensor.SigmoidActivation: (*tensor.Tensor).Sigmoid,
		tensor.GELUActivation: (*tensor.Tensor).GELU, tensor.GELUTanhActivation: (*tensor.Tensor).GELUTanh, tensor.SiLUActivation: (*tensor.Tensor).SiLU,
	}
	type operation struct {
		name string
		in   [][]int
		call func(act tensor.Activation, in ...*tensor.Tensor) *tensor.Tensor
	}
	third := func(in []*tensor.Tensor) *tensor.Tensor {
		if len(in) == 3 {
			return in[2]
		}
		return nil
	}
	linear := func(act tensor.Activation, in ...*tensor.Tensor) *tensor.Tensor {
		return tensor.Linear(in[0], in[1], third(in), act)
	}
	conv := func(o tensor.ConvOptions) func(act tensor.Activation, in ...*tensor.Tensor) *tensor.Tensor {
		return func(act tensor.Activation, in ...*tensor.Tensor) *tensor.Tensor {
			o.Act = act
			return tensor.Conv(in[0], in[1], third(in), o)
		}
	}
	transpose := func(act tensor.Activation, in ...*tensor.Tensor) *tensor.Tensor {
		return tensor.ConvTranspose(in[0], in[1], third(in), tensor.ConvTransposeOptions{ConvOptions: tensor.ConvOptions{Stride: [3]int{2, 1}, Act: act}})
	}
	norm := func(act tensor.Activation, in ...*tensor.Tensor) *tensor.Tensor {
		running, err := storage.Make(in[0].Device(), in[0].DType(), in[1].Shape()...)
		if err != nil {
			t.Fatal(err)
		}
		return tensor.BatchNorm(in[0], in[1], in[2], tensor.BatchNormOptions{Training: true, RunningMean: running, RunningVar: running, Act: act})
	}
	gpu := cudatest.Devices(t, cudatest.Deferred)[1]
	for _, op := range []operation{
		{"linear", [][]int{{9, 5}, {7, 5}, {7}}, linear},
		{"linear without bias", [][]int{{3, 5}, {70, 5}}, linear},
		{"conv", [][]int{{2, 3, 5, 4}, {4, 3, 3, 3}, {4}}, conv(tensor.ConvOptions{Padding: tensor.Pad(1, 1)})},
		{"conv without bias", [][]int{{2, 3, 5, 4}, {40, 3, 1, 2}}, conv(tensor.ConvOptions{})},
		{"conv of groups", [][]int{{2, 4, 6}, {6, 2, 3}, {6}}, conv(tensor.ConvOptions{Groups: 2, Stride: [3]int{2}})},
		{"conv of channels", [][]int{{2, 8, 6}, {8, 1, 3}, {8}}, conv(tensor.ConvOptions{Groups: 8})},
		{"conv of 16 channels", [][]int{{2, 16, 9, 8}, {16, 16, 3, 3}, {16}}, conv(tensor.ConvOptions{Padding: tensor.Pad(1, 1)})},
		{"conv of three axes", [][]int{{1, 2, 3, 4, 3}, {3, 2, 2, 2, 2}, {3}}, conv(tensor.ConvOptions{})},
		{"conv transpose", [][]int{{2, 3, 3, 4}, {3, 2, 3, 2}, {2}}, transpose},
		{"conv transpose without bias", [][]int{{2, 3, 3, 4}, {3, 2, 3, 2}}, transpose},
		{"batch norm", [][]int{{4, 3, 2}, {3}, {3}}, norm},
	} {
		for act, apply := range apart {
			for _, d := range []storage.Device{storage.CPU, gpu} {
				for _, float := range []dtype.Type{dtype.Float32, dtype.Float64} {
					t.Run(fmt.Sprintf("%s %v %v on %v", op.name, act, float, d), func(t *testing.T) {
						defer cudatest.Reset()
						var in []*tensor.Tensor
						for i, shape := range op.in {
							a, err := storage.Make(storage.CPU, float, shape...)
							if err != nil {
								t.Fatal(err)
							}
							tensor.FillNormal(a, 0, 0.5, tensor.Key{Seed: 7, Stream: uint64(i)})
							if a, err = a.To(d); err != nil {
								t.Fatal(err)
							}
							in = append(in, tensor.FromArray(a).RequireGrad())
						}
						fused := func(in ...*tensor.Tensor) *tensor.Tensor { return op.call(act, in...) }
						after := func(in ...*tensor.Tensor) *tensor.Tensor { return apply(op.call(tensor.NoActivation, in...)) }
						second := d == storage.CPU && float == dtype.Float64
						got, want := outcome(t, fused, in, second), outcome(t, after, in, second)
						tolerance := map[dtype.Type]float64{dtype.Float32: 2e-5, dtype.Float64: 1e-10}[float]
						for i := range want {
							if len(got[i]) != len(want[i]) {
								t.Fatalf("value %d has %d elements, want %d", i, len(got[i]), len(want[i]))
							}
							for k := range want[i] {
								if !(math.Abs(got[i][k]-want[i][k]) <= tolerance*(1+math.Abs(want[i][k]))) {
									t.Fatalf("value %d, element %d: %v, apart %v", i, k, got[i][k], want[i][k])
								}
							}
						}
					})
				}
			}
		}
	}
}

// outcome returns f(in), in a step that records it and in one that does not, the gradients of Σ y² and, if asked for,
// those of the sum of the squares of these.
func outcome(t *testing.T, f func(in ...*tensor.Tensor) *tensor.Tensor, in []*tensor.Tensor, second bool) (all [][]float64) {
	t.Helper()
	read := func(xs ...*tensor.Tensor) {
		for _, x := range xs {
			values, err := storage.Read[float64](x.Cast(dtype.Float64).Contiguous().Array())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, slices.Clone(values))
		}
	}
	err := tensor.Infer(func(tape *tensor.Tape) error {
		inputs := []*tensor.Tensor{tape.Input(in[0].Array())}
		read(f(append(inputs, in[1:]...)...))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = tensor.Step(func(tape *tensor.Tape) error {
		x := tape.Input(in[0].Array()).RequireGrad()
		leaves := append([]*tensor.Tensor{x}, in[1:]...)
		y := f(leaves...)
		read(y)
		grads := tensor.Grad([]*tensor.Tensor{y.Mul(y).Sum()}, leaves, tensor.GradOptions{CreateGraph: second})
		read(grads...)
		if !second {
			return nil
		}
		sum := grads[0].Mul(grads[0]).Sum()
		for _, g := range grads[1:] {
			sum = sum.Add(g.Mul(g).Sum())
		}
		read(tensor.Grad([]*tensor.Tensor{sum}, leaves, tensor.GradOptions{AllowUnused: true})...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestActivationsTakeNoLaunch: a product or a convolution, its bias and its activation are one launch, also
// where the gradient of the activation needs its operand.
func TestActivationsTakeNoLaunch(t *testing.T) {
	cudatest.SkipKernels(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	on := func(shape ...int) *tensor.Tensor {
		a, err := tensor.Ones(dtype.Float32, shape...).Array().To(d)
		if err != nil {
			t.Fatal(err)
		}
		return tensor.FromArray(a).RequireGrad()
	}
	x, w, b := on(40, 30), on(50, 30), on(50)
	images, windows := on(2, 3, 8, 8), on(50, 3, 3, 3)
	for act := tensor.NoActivation; act <= tensor.SiLUActivation; act++ {
		for name, f := range map[string]func() *tensor.Tensor{
			"linear": func() *tensor.Tensor { return tensor.Linear(x, w, b, act) },
			"conv":   func() *tensor.Tensor { return tensor.Conv(images, windows, b, tensor.ConvOptions{Act: act}) },
		} {
			before := total(cudatest.LaunchCounts())
			f()
			if err := d.Sync(); err != nil {
				t.Fatal(err)
			}
			if got := total(cudatest.LaunchCounts()) - before; got != 1 {
				t.Errorf("%s %v: %d launches, want 1", name, act, got)
			}
		}
	}
}
