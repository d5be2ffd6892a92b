package tensor_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

type tensors = []*tensor.Tensor

// inPlaceSamples are expressions in place on a result of their first operand.
func inPlaceSamples() []tensortest.Sample {
	h := func(in tensors) *tensor.Tensor { return in[0].AddScalar(0.25) }
	two := []tensortest.Input{tensortest.In(2, 3).Rows(), tensortest.In(3).Of(tensortest.Positive)}
	return []tensortest.Sample{
		{Name: "add", In: two, Call: func(in ...*tensor.Tensor) *tensor.Tensor { return h(in).AddInPlace(in[1]) }},
		{Name: "sub", In: two, Call: func(in ...*tensor.Tensor) *tensor.Tensor { return h(in).SubInPlace(in[1]) }},
		{Name: "mul", In: two, Call: func(in ...*tensor.Tensor) *tensor.Tensor { return h(in).MulInPlace(in[1]) }},
		{Name: "div", In: two, Call: func(in ...*tensor.Tensor) *tensor.Tensor { return h(in).DivInPlace(in[1]) }},
		{Name: "any", In: two, Call: func(in ...*tensor.Tensor) *tensor.Tensor {
			return h(in).InPlace(func(x *tensor.Tensor) *tensor.Tensor { return x.Exp().Mul(x).Add(in[1]) })
		}},
		{Name: "itself", In: two, Call: func(in ...*tensor.Tensor) *tensor.Tensor { x := h(in).Mul(in[1]); return x.MulInPlace(x).AddInPlace(x) }},
		{Name: "assign", In: two, Call: func(in ...*tensor.Tensor) *tensor.Tensor { return h(in).Assign(in[1]).MulInPlace(in[0]) }},
		{Name: "used before", In: two, Call: func(in ...*tensor.Tensor) *tensor.Tensor {
			x := h(in)
			before := x.Add(in[1]) // of what x was
			return x.MulInPlace(in[1]).Add(before)
		}},
		{Name: "a constant", In: two, Call: func(in ...*tensor.Tensor) *tensor.Tensor {
			return tensor.FromSlice([]float64{1, 2, 3, 4, 5, 6}, 2, 3).To(in[0].DType(), in[0].Device()).Narrow(0, 0, in[0].Shape()[0]).Clone().AddInPlace(in[0]).MulInPlace(in[1])
		}},
		{Name: "a sum", In: []tensortest.Input{tensortest.In(2, 3), tensortest.In(3).Of(tensortest.Positive)}, Call: func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Sum(0).AddInPlace(in[1]).MulInPlace(in[1]) }},
		{Name: "another type", In: two, Call: func(in ...*tensor.Tensor) *tensor.Tensor {
			return h(in).AddInPlace(in[1].Cast(dtype.Float64)).MulInPlace(in[1].Cast(dtype.Float64))
		}},
	}
}

func TestOperationsInPlaceHaveGradients(t *testing.T) {
	for _, s := range inPlaceSamples() {
		t.Run(s.Name, func(t *testing.T) { tensortest.Check(t, s) })
	}
}

// TestOperationsInPlaceWriteToTheirMemory in steps and outside, and seen by its views.
func TestOperationsInPlaceWriteToTheirMemory(t *testing.T) {
	x := tensor.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	row := x.Index("1")
	if y := x.AddInPlace(row); y != x {
		t.Error("x.AddInPlace returns another tensor")
	}
	if got, want := tensor.Values[float32](row), []float32{6, 8}; !slices.Equal(got, want) {
		t.Errorf("the view of x is %v, want %v", got, want)
	}
	whole := tensor.FromSlice([]int64{1, 2}, 2)
	if got := tensor.Values[int64](whole.MulInPlace(tensor.FromSlice([]int32{3, 4}, 2))); !slices.Equal(got, []int64{3, 8}) {
		t.Errorf("got %v", got)
	}
}

func TestOperationsInPlaceAreRefused(t *testing.T) {
	leaf := tensor.FromSlice([]float64{1, 2}, 2).RequireGrad()
	constant := func() *tensor.Tensor { return tensor.FromSlice([]float64{1, 2}, 2) }
	viewed := constant()
	view := viewed.Index("::-1")
	for want, f := range map[string]func(){
		"is a leaf that requires a gradient":                         func() { leaf.AddInPlace(constant()) },
		"is a leaf that requires a gradient; write to it in NoGrad":  func() { leaf.Fill(0) },
		"add in place: float64[2] on cpu shares its memory":          func() { view.AddInPlace(leaf) },
		"assign: float64[2] on cpu shares its memory":                func() { viewed.Assign(leaf) },
		"the result is float64, which int64 does not hold":           func() { tensor.FromSlice([]int64{1, 2}, 2).AddInPlace(constant()) },
		"the result [3 2] does not fit [2]":                          func() { constant().AddInPlace(tensor.Ones(dtype.Float64, 3, 2)) },
		"[3] does not broadcast to [2]":                              func() { constant().Assign(tensor.Ones(dtype.Float64, 3)) },
		"operand 1 is nil":                                           func() { constant().MulInPlace(nil) },
		"elements of [2 3] share memory":                             func() { w := tensor.Zeros(dtype.Float64, 4).Unfold(0, 3, 1); w.AddInPlace(w) },
		"elements of [2 3] share memory, as":                         func() { tensor.Zeros(dtype.Float64, 4).Unfold(0, 3, 1).Assign(tensor.Ones(dtype.Float64, 2, 3)) },
		"requires a gradient, which results in given memory":         func() { tensor.Into(constant(), leaf, (*tensor.Tensor).Exp) },
		"into: the result float64 [2] does not fit float32 [2]":      func() { tensor.Into(tensor.Zeros(dtype.Float32, 2), constant(), (*tensor.Tensor).Exp) },
		"into: the result float64 [2] does not fit float64 [3]":      func() { tensor.Into(tensor.Zeros(dtype.Float64, 3), constant(), (*tensor.Tensor).Exp) },
		"something that mul was computed from has been written to":   func() { h := leaf.Exp(); y := h.Mul(h); h.AddInPlace(constant()); y.Sum().Backward() },
		"something that exp was computed from has been written to":   func() { h := leaf.Exp(); h.MulInPlace(constant()); h.Sum().Backward() },
		"something that mul was computed from has been written to s": func() { c := constant(); y := leaf.Mul(c); c.Zero(); y.Sum().Backward() },
	} {
		if err := tensor.Try(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	if got := tensor.Values[float64](leaf); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("a refused operation has changed the leaf to %v", got)
	}
}

// TestBackwardReadsWhatItSaysOnly overwrites with NaN, behind the back of the versions, what each operation says that it
// does not read. Gradients stay what they are.
func TestBackwardReadsWhatItSaysOnly(t *testing.T) {
	tried := 0
	tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
		in := tensortest.Draw(s, dtype.Float64)
		_, want := tensortest.Outcome(s, in)
		xs := tensortest.Leaves(in)
		y := s.Call(xs...)
		if !y.RequiresGrad() || slices.Contains(xs, y) {
			return
		}
		weights := tensortest.Weights(y)
		tried += tensor.OverwriteUnread(y, func(a storage.Array) {
			if a.Type == dtype.Float64 {
				fillBytes(a)
			}
		})
		grads := tensor.Gradients(y, weights)
		for i, x := range xs {
			if want[i] != nil {
				tensortest.Near(t, "gradient", tensor.Values[float64](grads[x]), want[i], 1e-12)
			}
		}
	})
	if tried < 50 {
		t.Errorf("only %d arrays were overwritten", tried)
	}
}

// fillBytes sets all elements of a storage on the host to NaN.
func fillBytes(a storage.Array) {
	elems := storage.Elements[float64](storage.Array{Data: a.Data, Type: a.Type, View: a.View})
	for i := range elems {
		elems[i] = math.NaN()
	}
}

func TestInto(t *testing.T) {
	x := tensor.FromSlice([]float64{1, 2, 3, 4}, 2, 2)
	out := tensor.Zeros(dtype.Float64, 2, 2)
	for name, f := range map[string]func(x *tensor.Tensor) *tensor.Tensor{
		"one operation": (*tensor.Tensor).Neg,
		"several":       func(x *tensor.Tensor) *tensor.Tensor { return x.Exp().Mul(x).Add(x.T()) },
		"a view":        (*tensor.Tensor).T,
		"itself":        func(x *tensor.Tensor) *tensor.Tensor { return x },
		"out is read":   func(x *tensor.Tensor) *tensor.Tensor { return x.Add(out.T()) },
		"a product":     func(x *tensor.Tensor) *tensor.Tensor { return x.MatMul(out) },
	} {
		want := tensor.Values[float64](f(x))
		if got := tensor.Values[float64](tensor.Into(out, x, f)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// TestNoGradIsForItsGoroutine.
func TestNoGradIsForItsGoroutine(t *testing.T) {
	leaf := tensor.FromSlice([]float64{1, 2}, 2).RequireGrad()
	var made *tensor.Tensor
	tensor.NoGrad(func() {
		var other sync.WaitGroup
		other.Add(1)
		go func() {
			defer other.Done()
			if !leaf.Exp().RequiresGrad() {
				t.Error("another goroutine records nothing")
			}
		}()
		other.Wait()
		tensor.NoGrad(func() {})
		made = leaf.Exp()
		leaf.SubInPlace(made)
	})
	if made.RequiresGrad() || !made.Mul(leaf).RequiresGrad() {
		t.Error("a result of NoGrad is no constant")
	}
	if got := tensor.Values[float64](leaf)[0]; math.Abs(got-1+math.E) > 1e-12 {
		t.Errorf("the leaf is %v after a step", got)
	}
	err := tensor.Step(func(tape *tensor.Tape) error {
		x := tape.Input(storage.From([]float64{1, 2}, 2)).RequireGrad()
		var c *tensor.Tensor
		tensor.NoGrad(func() { c = x.Exp() })
		g := tensor.Gradients(c.Mul(x).Sum())[x]
		if got := tensor.Values[float64](g)[0]; math.Abs(got-math.E) > 1e-12 {
			return errors.New("the gradient is wrong")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
