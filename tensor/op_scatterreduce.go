package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// ScatterReduce returns a copy of x whose elements that index names are joined with src, as [Tensor.ScatterAdd] adds it:
// reduce is "sum", "prod", "mean", "amax" or "amin". Without includeSelf the elements of x there do not count. Means of
// integers are rounded down. Equal largest or smallest elements share the gradient.
func (x *Tensor) ScatterReduce(axis int, index, src *Tensor, reduce string, includeSelf bool) *Tensor {
	const act = "scatter reduce"
	joins := map[string]kernels.ScatterReduce{"sum": kernels.ScatterAdd, "mean": kernels.ScatterAdd, "prod": kernels.ScatterMul, "amax": kernels.ScatterMax, "amin": kernels.ScatterMin}
	join, ok := joins[reduce]
	checkGiven(act, x, index, src)
	if !ok {
		fail(act, ErrState, "%q; want sum, prod, mean, amax or amin", reduce)
	}
	from := x
	if !includeSelf {
		from = x.Scatter(axis, index, x.neutral(join, src))
	}
	y := from.scatter(act, join, axis, index, src)
	if reduce != "mean" {
		return y
	}
	one := FullLike(x, 1).Detach()
	count := one
	if !includeSelf {
		count = count.Scatter(axis, index, one.constant(0).first())
	}
	count = count.scatter(act, join, axis, index, one.first())
	count = Where(count.EqScalar(0), one, count)
	if x.DType().IsInt() {
		return y.FloorDiv(count)
	}
	return y.Div(count)
}

// neutral returns the number that changes nothing when src is joined to it; for the extremes of integers src itself, whose
// extremes stay the same when it is joined twice. Integers have no gradient to share.
func (x *Tensor) neutral(join kernels.ScatterReduce, src *Tensor) *Tensor {
	number := map[kernels.ScatterReduce]float64{kernels.ScatterMul: 1, kernels.ScatterMax: math.Inf(-1), kernels.ScatterMin: math.Inf(1)}[join]
	if math.IsInf(number, 0) && !x.DType().IsFloat() {
		return src
	}
	return x.constant(number).first()
}

// scatterMulGrad is dy times the product of the other elements, which is right at zeros, too.
func scatterMulGrad(axis int, x, src, index, dy *Tensor) (dx, dsrc *Tensor) {
	dx = x.ifNeeded(func() *Tensor {
		return dy.Mul(x.constant(1).scatter("scatter reduce", kernels.ScatterMul, axis, index, src))
	})
	dsrc = src.ifNeeded(func() *Tensor {
		zero, one := src.EqScalar(0), src.constant(1)
		rest := Where(zero, one, src)
		product := x.scatter("scatter reduce", kernels.ScatterMul, axis, index, rest).Gather(axis, index)
		zeros := x.constant(0).ScatterAdd(axis, index, zero.Cast(x.DType())).Gather(axis, index)
		others := Where(zeros.Eq(zero.Cast(x.DType())), product.Div(rest), src.constant(0)) // no other is 0
		return dy.Gather(axis, index).Mul(others)
	})
	return dx, dsrc
}

// scatterExtremeGrad is dy, shared by the elements that are the result.
func scatterExtremeGrad(axis int, x, src, index, y, dy *Tensor) (dx, dsrc *Tensor) {
	self, one := x.Eq(y).Cast(x.DType()), src.Eq(y.Gather(axis, index)).Cast(x.DType())
	share := dy.Div(self.ScatterAdd(axis, index, one))
	return self.Mul(share), one.Mul(share.Gather(axis, index))
}

func init() {
	for _, reduce := range []string{"sum", "prod", "mean", "amax", "amin"} {
		for _, include := range []bool{true, false} {
			name := "scatter reduce " + reduce
			if !include {
				name += " alone"
			}
			samples.Register(name, func(in ...*Tensor) *Tensor { return in[0].ScatterReduce(1, in[1], in[2], reduce, include) },
				samples.In(2, 5, 4).Of(samples.Distinct).Rows(), places([]int{2, 6, 4}, 4).Rows(), samples.In(2, 6, 4).Of(samples.Distinct).Rows())
		}
	}
}
