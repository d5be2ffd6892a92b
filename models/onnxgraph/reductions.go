package onnxgraph

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

// reduction registers an operator that reduces axes, all of them by default. They are an attribute in earlier
// opsets and an input in later ones.
func reduction(op string, f func(x *tensor.Tensor, axes ...int) *tensor.Tensor) bool {
	return simple(op, 1, func(c *call) *tensor.Tensor {
		x := c.x(0)
		axes := c.axes(1, x.Rank())
		if len(axes) == 0 {
			if c.integer("noop_with_empty_axes", 0) == 1 {
				return f(x.Unsqueeze(-1), -1)
			}
			axes = rest(0, x.Rank())
		}
		if x.Rank() == 0 {
			return f(x.Unsqueeze(0), 0).Cast(x.DType())
		}
		if c.integer("keepdims", 1) == 1 {
			axes = append(axes, tensor.KeepDims)
		}
		return f(x, axes...).Cast(x.DType())
	})
}

var (
	_ = reduction("ReduceSum", (*tensor.Tensor).Sum)
	_ = reduction("ReduceMean", func(x *tensor.Tensor, axes ...int) *tensor.Tensor {
		if !x.DType().IsFloat() {
			x = x.Cast(dtype.Float64)
		}
		return x.Mean(axes...)
	})
	_ = reduction("ReduceMax", (*tensor.Tensor).AMax)
	_ = reduction("ReduceMin", (*tensor.Tensor).AMin)
	_ = reduction("ReduceProd", (*tensor.Tensor).Prod)
	_ = reduction("ReduceL1", func(x *tensor.Tensor, axes ...int) *tensor.Tensor { return x.Abs().Sum(axes...) })
	_ = reduction("ReduceL2", func(x *tensor.Tensor, axes ...int) *tensor.Tensor {
		return x.Mul(x).Sum(axes...).Sqrt()
	})
	_ = reduction("ReduceSumSquare", func(x *tensor.Tensor, axes ...int) *tensor.Tensor { return x.Mul(x).Sum(axes...) })
	_ = reduction("ReduceLogSum", func(x *tensor.Tensor, axes ...int) *tensor.Tensor { return x.Sum(axes...).Log() })
	_ = reduction("ReduceLogSumExp", func(x *tensor.Tensor, axes ...int) *tensor.Tensor { return x.LogSumExp(axes...) })
	_ = arg("ArgMax", (*tensor.Tensor).ArgMax)
	_ = arg("ArgMin", (*tensor.Tensor).ArgMin)
)

// arg registers an operator that finds the position of an element along an axis.
func arg(op string, f func(x *tensor.Tensor, axes ...int) *tensor.Tensor) bool {
	return simple(op, 1, func(c *call) *tensor.Tensor {
		x := c.x(0)
		axis := c.axis("axis", 0, x.Rank())
		last := c.integer("select_last_index", 0) == 1
		if last {
			x = x.Flip(axis)
		}
		index := f(x, axis).Cast(dtype.Int64)
		if last {
			index = index.RSubScalar(x.Size(axis) - 1)
		}
		if c.integer("keepdims", 1) == 1 {
			index = index.Unsqueeze(axis)
		}
		return index
	})
}
