package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// CumSum returns the sums of the elements along axis up to each one. Integers and bools are added up as int64, except
// uint64, which wraps.
func (x *Tensor) CumSum(axis int) *Tensor {
	if x != nil && x.DType().IsComplex() {
		return Complex(x.Real().CumSum(axis), x.Imag().CumSum(axis))
	}
	return Apply(cumsum{x.axis("cumsum", axis)}, x.ToFloat32().wide())
}

// wide returns integers and bools as int64, except uint64.
func (x *Tensor) wide() *Tensor {
	if t := x.DType(); t.IsInt() && t != dtype.Uint64 || t == dtype.Bool {
		return x.Cast(dtype.Int64)
	}
	return x
}

type cumsum struct{ axis int }

func (cumsum) Name() string { return "cumsum" }

func (cumsum) Infer(in []Spec) []Spec { return one(in[0].Type, views.Like(in[0].View)) }

func (op cumsum) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.CumSum, kernels.CumSumOptions{Axis: op.axis}, out, in...)
}

func (cumsum) reads([]*Tensor) (operands uint64, results bool) { return 0, false }

func (op cumsum) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{grads[0].Flip(op.axis).CumSum(op.axis).Flip(op.axis)}
}

// scan joins the elements along axis up to each one, in a number of steps that is the logarithm of theirs (Hillis and Steele,
// doi:10.1145/7902.7903). xs are joined together.
func scan(axis int, xs []*Tensor, join func(earlier, later []*Tensor) []*Tensor) []*Tensor {
	n := xs[0].Shape()[axis]
	for step := 1; step < n; step *= 2 {
		first, earlier, later := []*Tensor{}, []*Tensor{}, []*Tensor{}
		for _, x := range xs {
			first = append(first, x.Narrow(axis, 0, step))
			earlier = append(earlier, x.Narrow(axis, 0, n-step))
			later = append(later, x.Narrow(axis, step, n-step))
		}
		joined := join(earlier, later)
		for i := range joined {
			joined[i] = Cat(axis, first[i], joined[i])
		}
		xs = joined
	}
	return xs
}

// CumProd returns the products of the elements along axis up to each one. Integers and bools are multiplied as
// int64, except uint64, and wrap.
func (x *Tensor) CumProd(axis int) *Tensor {
	return scan(x.axis("cumprod", axis), []*Tensor{x.ToFloat32().wide()}, func(a, b []*Tensor) []*Tensor {
		return []*Tensor{a[0].Mul(b[0])}
	})[0]
}

// LogCumSumExp returns the logarithms of the sums of eˣ along axis up to each one, without overflow.
func (x *Tensor) LogCumSumExp(axis int) *Tensor {
	return scan(x.axis("log cum sum exp", axis), []*Tensor{x.floating().ToFloat32()}, func(a, b []*Tensor) []*Tensor {
		x, y := a[0], b[0]
		equal := x.Detach().Eq(y.Detach()) // infinities, too, whose difference is NaN
		above := func(x, y *Tensor) *Tensor {
			d := y.Sub(x)
			return x.Add(Where(equal, d.constant(0), d).Softplus())
		}
		log2 := x.MulScalar(0.5).Add(y.MulScalar(0.5)).AddScalar(0.6931471805599453)
		return []*Tensor{Where(equal, log2, Where(x.Detach().Gt(y.Detach()), above(x, y), above(y, x)))}
	})[0]
}

// CumMax returns the largest of the elements along axis up to each one, and its index, of the last of several, as int64. NaN is
// the largest. The gradient reaches that element only.
func (x *Tensor) CumMax(axis int) (values, index *Tensor) {
	return x.extremes("cummax", axis, (*Tensor).Ge)
}

// CumMin is [Tensor.CumMax] of the smallest elements.
func (x *Tensor) CumMin(axis int) (values, index *Tensor) {
	return x.extremes("cummin", axis, (*Tensor).Le)
}

// besides returns the constant c where operations on x compute.
func (c *Tensor) besides(x *Tensor) *Tensor {
	if x.IsLazy() {
		return c
	}
	return x.onDevice(c.array)
}

func (x *Tensor) extremes(op string, axis int, beats func(x, y *Tensor) *Tensor) (values, index *Tensor) {
	axis = x.axis(op, axis)
	n := x.Shape()[axis]
	index = Arange(dtype.Int64, 0, float64(n), 1).besides(x)
	for range x.Rank() - axis - 1 {
		index = index.Unsqueeze(-1)
	}
	both := scan(axis, []*Tensor{x, index.Expand(x.Shape()...)}, func(a, b []*Tensor) []*Tensor {
		earlier, later := a[0].Detach(), b[0].Detach()
		wins := Where(later.Ne(later), later.Ne(later), beats(later, earlier))
		return []*Tensor{Where(wins, b[0], a[0]), Where(wins, b[1], a[1])}
	})
	return both[0], both[1]
}

func init() {
	values := func(v, _ *Tensor) *Tensor { return v }
	index := func(_, i *Tensor) *Tensor { return i }
	distinct := samples.In(3, 5, 2).Of(samples.Distinct)
	samples.RegisterHostOnly("cumsum", unary(func(x *Tensor) *Tensor { return x.CumSum(1) }), samples.In(3, 5, 2).Rows())
	samples.RegisterHostOnly("cumsum -1", unary(func(x *Tensor) *Tensor { return x.CumSum(-1) }), samples.In(3, 7).Rows())
	samples.Register("cumprod", unary(func(x *Tensor) *Tensor { return x.CumProd(1) }), samples.In(2, 4).Rows())
	samples.Register("log cum sum exp", unary(func(x *Tensor) *Tensor { return x.LogCumSumExp(1) }), samples.In(2, 4).Rows())
	samples.Register("cummax", unary(func(x *Tensor) *Tensor { return values(x.CumMax(1)) }), distinct.Rows())
	samples.Register("cummax index", unary(func(x *Tensor) *Tensor { return index(x.CumMax(1)) }), distinct.Rows())
	samples.Register("cummin", unary(func(x *Tensor) *Tensor { return values(x.CumMin(-2)) }), distinct.Rows())
}
