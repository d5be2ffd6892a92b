package tensor_test

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// normal returns normal numbers, which depend on the seed.
func normal(t *testing.T, seed uint64, shape ...int) storage.Array {
	t.Helper()
	a, err := storage.Make(storage.CPU, dtype.Float32, shape...)
	if err != nil {
		t.Fatal(err)
	}
	tensor.FillNormal(a, 0, 1, tensor.Key{Seed: seed, Stream: 7})
	return a
}

// layers returns functions of images (N, 16, 9, 8), each of operations that a program fuses, packs or leaves alone.
func layers(t *testing.T) map[string]func(x *tensor.Tensor) *tensor.Tensor {
	w := func(seed uint64, shape ...int) *tensor.Tensor { return tensor.FromArray(normal(t, seed, shape...)) }
	norm := func(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
		c := x.Shape()[1]
		return tensor.BatchNorm(x, w(1, c), w(2, c), tensor.BatchNormOptions{RunningMean: normal(t, 3, c), RunningVar: w(4, c).Mul(w(4, c)).Array(), Act: act})
	}
	conv := func(x *tensor.Tensor, out, k int, o tensor.ConvOptions) *tensor.Tensor {
		return tensor.Conv(x, w(5, out, x.Shape()[1]/max(o.Groups, 1), k, k), w(6, out), o)
	}
	same := tensor.ConvOptions{Padding: tensor.Pad(1, 1)}
	return map[string]func(x *tensor.Tensor) *tensor.Tensor{
		"conv, norm and relu": func(x *tensor.Tensor) *tensor.Tensor { return norm(conv(x, 32, 3, same), tensor.ReLUActivation) },
		"conv with silu": func(x *tensor.Tensor) *tensor.Tensor {
			return norm(conv(x, 20, 1, tensor.ConvOptions{}), tensor.SiLUActivation)
		},
		"strided and dilated": func(x *tensor.Tensor) *tensor.Tensor {
			return conv(x, 7, 3, tensor.ConvOptions{Stride: [3]int{2, 1}, Dilation: [3]int{1, 2}}).ReLU()
		},
		"depthwise and limits": func(x *tensor.Tensor) *tensor.Tensor {
			return norm(conv(x, 16, 3, tensor.ConvOptions{Groups: 16, Padding: tensor.Pad(1, 1), Stride: [3]int{2, 2}}), tensor.NoActivation).Hardtanh(0, 1)
		},
		"depthwise, wide": func(x *tensor.Tensor) *tensor.Tensor {
			return conv(x, 16, 5, tensor.ConvOptions{Groups: 16, Padding: tensor.Pad(2, 2)})
		},
		"groups": func(x *tensor.Tensor) *tensor.Tensor {
			return norm(conv(x, 8, 3, tensor.ConvOptions{Groups: 4}), tensor.ReLUActivation)
		},
		"residual": func(x *tensor.Tensor) *tensor.Tensor {
			y := conv(x, 16, 1, tensor.ConvOptions{})
			return norm(conv(norm(conv(y, 16, 3, same), tensor.ReLUActivation), 16, 3, same), tensor.NoActivation).Add(y).ReLU()
		},
		"residual, the shortcut last": func(x *tensor.Tensor) *tensor.Tensor {
			y := conv(conv(conv(x, 16, 3, same).ReLU(), 16, 3, same).ReLU(), 16, 3, same)
			return conv(y.Add(conv(x, 16, 1, tensor.ConvOptions{})).ReLU(), 16, 1, tensor.ConvOptions{})
		},
		"residuals in a row": func(x *tensor.Tensor) *tensor.Tensor {
			y := conv(x, 16, 1, tensor.ConvOptions{}).ReLU()
			for range 3 {
				y = conv(conv(y, 32, 1, tensor.ConvOptions{}).ReLU(), 16, 1, tensor.ConvOptions{}).Add(y).ReLU()
			}
			return y
		},
		"inverted residuals": func(x *tensor.Tensor) *tensor.Tensor {
			within := func(x *tensor.Tensor, stride int) *tensor.Tensor {
				c := x.Shape()[1]
				return conv(x, c, 3, tensor.ConvOptions{Groups: c, Padding: tensor.Pad(1, 1), Stride: [3]int{stride, stride}}).Hardtanh(0, 6)
			}
			one := tensor.ConvOptions{}
			y := conv(within(x, 1), 24, 1, one)
			y = conv(within(conv(y, 40, 1, one).Hardtanh(0, 6), 1), 24, 1, one).Add(y)
			z := conv(y, 24, 1, one) // read twice, and added to
			return conv(within(conv(y, 40, 1, one).Hardtanh(0, 6), 2), 17, 1, one).Add(conv(within(z, 1), 24, 1, one).Add(z).Mean())
		},
		"residual of the input": func(x *tensor.Tensor) *tensor.Tensor { return conv(x, 16, 3, same).Add(x).ReLU() },
		"used twice":            func(x *tensor.Tensor) *tensor.Tensor { y := conv(x, 16, 3, same); return y.ReLU().Add(y) },
		"concatenated":          func(x *tensor.Tensor) *tensor.Tensor { y := conv(x, 16, 3, same); return tensor.Cat(1, y, x, y.ReLU()) },
		"dense": func(x *tensor.Tensor) *tensor.Tensor {
			return tensor.Linear(conv(x, 4, 3, same).MaxPool(tensor.PoolOptions{Kernel: [3]int{2, 2}}).Flatten(1), w(7, 33, 64), w(8, 33), tensor.GELUActivation)
		},
		"quantized": func(x *tensor.Tensor) *tensor.Tensor { // by weights that are integers times 0.02
			return tensor.Conv(x.FakeQuantize(0.03, 5, -128, 127), w(11, 20, 16, 3, 3).MulScalar(100).Round().Clamp(-127, 127).MulScalar(0.02), w(12, 20), same).ReLU()
		},
		"constants": func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(w(9, 16, 1, 1).Exp().AddScalar(1)) },
		"views": func(x *tensor.Tensor) *tensor.Tensor {
			return conv(x, 5, 3, same).Slice(2, 1, 8, 2).Transpose(1, 3).Reshape(x.Shape()[0], -1)
		},
	}
}

func TestProgramsComputeWhatTheyRecord(t *testing.T) {
	for name, f := range layers(t) {
		for _, n := range []int{1, 3} {
			p, err := tensor.Compile(func(_ *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(xs[0])} },
				tensor.InputSpec(dtype.Float32, n, 16, 9, 8))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for seed := range uint64(2) {
				x := normal(t, 10+seed, n, 16, 9, 8)
				want := f(tensor.FromArray(x))
				got, err := storage.Make(storage.CPU, dtype.Float32, want.Shape()...)
				if err == nil {
					err = p.Run([]storage.Array{got}, []storage.Array{x})
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				compare(t, name, tensor.Values[float64](tensor.FromArray(got)), tensor.Values[float64](want))
			}
		}
	}
}

func compare(t *testing.T, name string, got, want []float64) {
	t.Helper()
	scale := 1e-6
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= 1e-5*scale) {
			t.Errorf("%s, element %d: %v; want %v", name, i, got[i], w)
			return
		}
	}
}

func TestProgramsKeepNaN(t *testing.T) {
	for _, name := range []string{"conv, norm and relu", "depthwise and limits", "residual", "dense"} {
		f := layers(t)[name]
		p, err := tensor.Compile(func(_ *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(xs[0])} }, tensor.InputSpec(dtype.Float32, 1, 16, 9, 8))
		if err != nil {
			t.Fatal(err)
		}
		x := normal(t, 1, 1, 16, 9, 8)
		storage.Elements[float32](x)[300] = float32(math.NaN())
		shape := f(tensor.FromArray(x)).Shape()
		y, err := storage.Make(storage.CPU, dtype.Float32, shape...)
		if err == nil {
			err = p.Run([]storage.Array{y}, []storage.Array{x})
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(storage.Elements[float32](y), func(v float32) bool { return v != v }) {
			t.Errorf("%s: NaN is lost", name)
		}
	}
}

func TestGoroutinesShareAProgram(t *testing.T) {
	residual := layers(t)["residual"]
	f := func(x *tensor.Tensor) *tensor.Tensor {
		return tensor.LayerNorm(residual(x), []int{8}, tensor.FromArray(normal(t, 1, 8)), tensor.FromArray(normal(t, 2, 8)), 1e-5)
	}
	p, err := tensor.Compile(func(_ *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(xs[0])} }, tensor.InputSpec(dtype.Float32, 2, 16, 9, 8))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for g := range uint64(8) {
		x := normal(t, 20+g, 2, 16, 9, 8)
		want := tensor.Values[float64](f(tensor.FromArray(x)))
		all.Add(1)
		go func() {
			defer all.Done()
			for range 20 {
				y, err := storage.Make(storage.CPU, dtype.Float32, 2, 16, 9, 8)
				if err == nil {
					err = p.Run([]storage.Array{y}, []storage.Array{x})
				}
				if err != nil {
					t.Error(err)
					return
				}
				compare(t, "residual", tensor.Values[float64](tensor.FromArray(y)), want)
			}
		}()
	}
	all.Wait()
}

func TestProgramsRefuse(t *testing.T) {
	w := normal(t, 1, 4, 3)
	for want, f := range map[string]func(x *tensor.Tensor) *tensor.Tensor{
		"compile: it reads values":                                  func(x *tensor.Tensor) *tensor.Tensor { return x.MulScalar(x.Sum().Item()) },
		"compile: it draws random numbers":                          func(x *tensor.Tensor) *tensor.Tensor { key, _ := x.NextKey(); return x.Dropout(0.5, key) },
		"compile: it writes to given memory":                        func(x *tensor.Tensor) *tensor.Tensor { y := x.Neg(); y.AddInPlace(x); return y },
		"compile: it makes results of shapes that depend on values": func(x *tensor.Tensor) *tensor.Tensor { return x.MaskedSelect(x.Gt(x.Neg())) },
	} {
		_, err := tensor.Compile(func(_ *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(xs[0])} }, tensor.InputSpec(dtype.Float32, 2, 3))
		if err == nil || err.Error() != want {
			t.Errorf("error %v; want %s", err, want)
		}
	}
	p, err := tensor.Compile(func(_ *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{tensor.Linear(xs[0], tensor.FromArray(w), nil, tensor.NoActivation)}
	}, tensor.InputSpec(dtype.Float32, 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	y := normal(t, 1, 2, 4)
	tensor.FillNormal(w, 0, 1, tensor.Key{Seed: 5})
	if err := p.Run([]storage.Array{y}, []storage.Array{normal(t, 1, 2, 3)}); !errors.Is(err, tensor.ErrChanged) {
		t.Errorf("error %v; want one about changed weights", err)
	}
	if err := p.Run([]storage.Array{y}, []storage.Array{normal(t, 1, 1, 3)}); err == nil {
		t.Error("an input of another shape is not refused")
	}
}

func TestProgramsWithNarrowWeightsAreNear(t *testing.T) {
	for weights, tolerance := range map[dtype.Type]float64{dtype.Int8: 0.04, dtype.BFloat16: 0.02} {
		nearWithWeights(t, weights, tolerance)
	}
}

// nearWithWeights compares programs with weights of another type with the functions.
func nearWithWeights(t *testing.T, weights dtype.Type, tolerance float64) {
	t.Helper()
	for _, name := range []string{"conv, norm and relu", "conv with silu", "strided and dilated", "residual", "dense", "views"} {
		f := layers(t)[name]
		p, err := tensor.CompileOptions{Weights: weights}.Compile(func(_ *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(xs[0])} }, tensor.InputSpec(dtype.Float32, 3, 16, 9, 8))
		if err != nil {
			t.Fatal(err)
		}
		count, _ := p.Narrow()
		if has := weights == dtype.Int8 || native.BF16(); count == 0 && name == "dense" && has || count > 0 && !has { // others may be faster in float32
			t.Errorf("%s: %d weights of %v", name, count, weights)
		}
		x := normal(t, 1, 3, 16, 9, 8)
		want := f(tensor.FromArray(x))
		y, err := storage.Make(storage.CPU, dtype.Float32, want.Shape()...)
		if err == nil {
			err = p.Run([]storage.Array{y}, []storage.Array{x})
		}
		if err != nil {
			t.Fatal(err)
		}
		scale, worst := 0.0, 0.0
		got := tensor.Values[float64](tensor.FromArray(y))
		for i, w := range tensor.Values[float64](want) {
			scale, worst = max(scale, math.Abs(w)), max(worst, math.Abs(got[i]-w))
		}
		if count > 0 && worst == 0 || !(worst <= tolerance*scale) {
			t.Errorf("%s: %d products by weights of %v, differs by %v of at most %v; want some with them, and less than %v of that", name, count, weights, worst, scale, tolerance)
		}
	}
}

// TestFakeQuantizePassesGradientsOn compares with PyTorch: elements that are clamped have the gradient 0.
func TestFakeQuantizePassesGradientsOn(t *testing.T) {
	x := tensor.FromSlice([]float64{-1, -0.3, 0.1, 0.3, 2}, 5).RequireGrad()
	y := x.FakeQuantize(0.25, 1, 0, 4)
	if got, want := tensor.Values[float64](y), []float64{-0.25, -0.25, 0, 0.25, 0.75}; !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
	if got, want := tensor.Values[float64](tensor.Grad([]*tensor.Tensor{y.Sum()}, []*tensor.Tensor{x}, tensor.GradOptions{})[0]), []float64{0, 1, 1, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("gradient %v; want %v", got, want)
	}
}

// TestRecurrentWeightsArePackedOnce: a program holds the weights of the state of each cell as its kernel reads them, and computes as the operation does.
func TestRecurrentWeightsArePackedOnce(t *testing.T) {
	const steps, n, hidden = 5, 3, 32
	for _, cell := range []tensor.Cell{tensor.RNNCell, tensor.LSTMCell, tensor.GRUCell} {
		rows := cell.Gates() * hidden
		w := tensor.FromArray(normal(t, 2, rows, hidden))
		layer := func(x *tensor.Tensor) *tensor.Tensor {
			y, _ := tensor.Recurrent(x, w, nil, nil, tensor.RecurrentOptions{Cell: cell})
			return y
		}
		p, err := tensor.CompileOptions{}.Compile(func(_ *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{layer(xs[0])} }, tensor.InputSpec(dtype.Float32, steps, n, rows))
		if err != nil {
			t.Fatal(err)
		}
		if _, bytes := p.Memory(); bytes < 4*rows*hidden {
			t.Errorf("cell %v: %d bytes of packed weights, want %d or more", cell, bytes, 4*rows*hidden)
		}
		x := normal(t, 1, steps, n, rows)
		y, err := storage.Make(storage.CPU, dtype.Float32, steps, n, hidden)
		if err == nil {
			err = p.Run([]storage.Array{y}, []storage.Array{x})
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, want := tensor.Values[float32](tensor.FromArray(y)), tensor.Values[float32](layer(tensor.FromArray(x))); !slices.Equal(got, want) {
			t.Errorf("cell %v: a program computes other outputs than the operation", cell)
		}
	}
}
