package tensor

import (
	"math"
	"reflect"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// The operand s of these methods is a Go number or bool. It counts by its kind, as PyTorch's scalars
// do: see [dtype.PromoteNumber]. They fail for anything else, and for an integer that the
// type of x does not hold, which PyTorch lets wrap around.

// AddScalar returns x + s.
func (x *Tensor) AddScalar(s any) *Tensor { return x.scaled("add scalar", s, 1, 1, (*Tensor).Add) }

// SubScalar returns x − s.
func (x *Tensor) SubScalar(s any) *Tensor { return x.scaled("sub scalar", s, 1, -1, (*Tensor).Sub) }

// RSubScalar returns s − x.
func (x *Tensor) RSubScalar(s any) *Tensor {
	return x.scaled("rsub scalar", s, -1, 1, func(x, y *Tensor) *Tensor { return y.Sub(x) })
}

// MulScalar returns s·x.
func (x *Tensor) MulScalar(s any) *Tensor {
	if v, ok := x.realBeside(s); ok && v != 0 { // which is no scale of the kernel
		return Apply(scaleOffset{"mul scalar", v, 0}, x)
	}
	return x.withNumber("mul scalar", s, (*Tensor).Mul)
}

// DivScalar returns x / s, as [Tensor.Div] does.
func (x *Tensor) DivScalar(s any) *Tensor { return x.withNumber("div scalar", s, (*Tensor).Div) }

// RDivScalar returns s / x, as [Tensor.Div] does.
func (x *Tensor) RDivScalar(s any) *Tensor {
	return x.withNumber("rdiv scalar", s, func(x, y *Tensor) *Tensor { return y.Div(x) })
}

// EqScalar returns whether x = s, elementwise, as bools. Integers are compared exactly, also with integers that the
// type of x does not hold.
func (x *Tensor) EqScalar(s any) *Tensor { return x.comparedWith("eq scalar", s, (*Tensor).Eq) }

// NeScalar returns whether x ≠ s, as [Tensor.EqScalar] compares.
func (x *Tensor) NeScalar(s any) *Tensor { return x.comparedWith("ne scalar", s, (*Tensor).Ne) }

// LtScalar returns whether x < s, as [Tensor.EqScalar] compares.
func (x *Tensor) LtScalar(s any) *Tensor { return x.comparedWith("lt scalar", s, (*Tensor).Lt) }

// LeScalar returns whether x ≤ s, as [Tensor.EqScalar] compares.
func (x *Tensor) LeScalar(s any) *Tensor { return x.comparedWith("le scalar", s, (*Tensor).Le) }

// GtScalar returns whether x > s, as [Tensor.EqScalar] compares.
func (x *Tensor) GtScalar(s any) *Tensor { return x.comparedWith("gt scalar", s, (*Tensor).Gt) }

// GeScalar returns whether x ≥ s, as [Tensor.EqScalar] compares.
func (x *Tensor) GeScalar(s any) *Tensor { return x.comparedWith("ge scalar", s, (*Tensor).Ge) }

// scaled is scale·x + sign·s, in one pass if x has floats and s is real, or else f(x, s).
func (x *Tensor) scaled(act string, s any, scale, sign float64, f func(x, y *Tensor) *Tensor) *Tensor {
	if v, ok := x.realBeside(s); ok {
		return Apply(scaleOffset{act, scale, sign * v}, x)
	}
	return x.withNumber(act, s, f)
}

// withNumber returns f of x and the number s in the type that they are computed in together.
func (x *Tensor) withNumber(act string, s any, f func(x, y *Tensor) *Tensor) *Tensor {
	n := numberOf(act, s)
	checkGiven(act, x)
	t, err := dtype.PromoteNumber(x.DType(), n.Type)
	check(act, err)
	x = x.Cast(t)
	return f(x, x.number(act, t, n))
}

func (x *Tensor) comparedWith(act string, s any, f func(x, y *Tensor) *Tensor) *Tensor {
	n := numberOf(act, s)
	if checkGiven(act, x); x.DType().IsInt() && n.Type.IsInt() && !holds(x.DType(), n) {
		return f(x, x.number(act, n.Type, n))
	}
	return x.withNumber(act, s, f)
}

// realBeside returns the number s, and whether x has floats and s is real.
func (x *Tensor) realBeside(s any) (v float64, ok bool) {
	if x == nil || !x.DType().IsFloat() {
		return 0, false
	}
	switch s := s.(type) {
	case float64:
		return s, true
	case int:
		return float64(s), true
	}
	n := numberOf("scalar", s)
	if n.Type.IsComplex() {
		return 0, false
	}
	elems, err := storage.Read[float64](n)
	return elems[0], err == nil
}

// numberOf returns s, a Go number or bool, as an array of one element of the widest type of its kind.
func numberOf(act string, s any) storage.Array {
	switch v := reflect.ValueOf(s); {
	case v.Kind() == reflect.Bool:
		return storage.From([]bool{v.Bool()})
	case v.CanInt():
		return storage.From([]int64{v.Int()})
	case v.CanUint() && v.Uint() > math.MaxInt64:
		return storage.From([]uint64{v.Uint()})
	case v.CanUint():
		return storage.From([]int64{int64(v.Uint())})
	case v.CanFloat():
		return storage.From([]float64{v.Float()})
	case v.CanComplex():
		return storage.From([]complex128{v.Complex()})
	}
	fail(act, ErrType, "%T beside a tensor; want a number, a bool or a *Tensor", s)
	return storage.Array{}
}

// holds reports whether t holds n, an integer.
func holds(t dtype.Type, n storage.Array) bool {
	bytes, _ := n.Bytes()
	return dtype.ConvertChecked(make([]byte, t.Size()), t, bytes, n.Type) == nil
}

// number returns n, a single number, as type t, repeated to the shape of x, on the device and in the step of x.
func (x *Tensor) number(act string, t dtype.Type, n storage.Array) *Tensor {
	if t.IsInt() && n.Type.IsInt() && !holds(t, n) {
		fail(act, ErrType, "%v does not hold the number; Cast the tensor first", t)
	}
	if v, err := storage.Read[float64](n); err == nil && (!n.Type.IsInt() || math.Abs(v[0]) < 1<<53) { // exactly
		y := x.filledAs(t, views.Of(), v[0])
		y.array.View, _ = y.array.View.Broadcast(x.Shape()...)
		return y
	}
	one, err := storage.Make(storage.CPU, t)
	check(act, err)
	check(act, n.CopyTo(one))
	one.View, _ = one.View.Broadcast(x.Shape()...)
	return x.onDevice(one)
}

// mulGradScalar returns s·x for a gradient x, which is never written to: x itself if s is 1.
func (x *Tensor) mulGradScalar(s float64) *Tensor {
	if s == 1 {
		return x
	}
	return x.MulScalar(s)
}

// scaleOffset is scale·x + offset.
type scaleOffset struct {
	name          string
	scale, offset float64
}

func (op scaleOffset) Name() string { return op.name }

// Pointwise implements [PointwiseOp].
func (scaleOffset) Pointwise() {}

func (op scaleOffset) Infer(in []Spec) []Spec { return likeFloat(op.Name(), in[0]) }

func (op scaleOffset) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.ScaleOffset, kernels.ScaleOffsetOptions{Scale: op.scale, Offset: op.offset}, out, in...)
}

func (scaleOffset) reads([]*Tensor) (operands uint64, results bool) { return 0, false }

func (op scaleOffset) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{grads[0].mulGradScalar(op.scale)}
}

// registerScalar registers a method of a number that takes x from kind.
func registerScalar(name string, f func(x *Tensor, s any) *Tensor, s any, kind samples.Kind) bool {
	return samples.Register(name, unary(func(x *Tensor) *Tensor { return f(x, s) }), samples.In(3, 4).Of(kind).Rows())
}

var (
	_ = registerScalar("add scalar", (*Tensor).AddScalar, 2, samples.Normal)
	_ = registerScalar("sub scalar", (*Tensor).SubScalar, 2, samples.Normal)
	_ = registerScalar("rsub scalar", (*Tensor).RSubScalar, 2, samples.Normal)
	_ = registerScalar("mul scalar", (*Tensor).MulScalar, -1.5, samples.Normal)
	_ = registerScalar("mul scalar 0", (*Tensor).MulScalar, 0, samples.Normal)
	_ = registerScalar("div scalar", (*Tensor).DivScalar, 3, samples.Normal)
	_ = registerScalar("rdiv scalar", (*Tensor).RDivScalar, 2, samples.Positive)
	_ = registerScalar("eq scalar", (*Tensor).EqScalar, 1, samples.Normal)
	_ = registerScalar("ne scalar", (*Tensor).NeScalar, 1, samples.Normal)
	_ = registerScalar("lt scalar", (*Tensor).LtScalar, 1, samples.Normal)
	_ = registerScalar("le scalar", (*Tensor).LeScalar, 1, samples.Normal)
	_ = registerScalar("gt scalar", (*Tensor).GtScalar, 1, samples.Normal)
	_ = registerScalar("ge scalar", (*Tensor).GeScalar, 1, samples.Normal)
)
