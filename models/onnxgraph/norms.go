package onnxgraph

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = add(rule{op: "BatchNormalization", since: 1, run: func(c *call) []*tensor.Tensor {
		if c.integer("training_mode", 0) == 1 {
			c.fail(storage.ErrState, "it normalizes by the statistics of the batch; export the model in evaluation mode")
		}
		return c.padded(tensor.BatchNorm(c.x(0), c.x(1), c.x(2), tensor.BatchNormOptions{
			Eps: c.number("epsilon", 1e-5), RunningMean: c.x(3).Array(), RunningVar: c.x(4).Array(), Act: c.act,
		}))
	}})
	_ = simple("InstanceNormalization", 1, func(c *call) *tensor.Tensor {
		x := c.x(0)
		return affine(standardized(x, rest(2, x.Rank()), c.number("epsilon", 1e-5)), c.x(1), c.x(2))
	})
	_ = add(rule{op: "LayerNormalization", since: 17, run: layerNormalization})
	_ = simple("RMSNormalization", 23, func(c *call) *tensor.Tensor {
		x := c.x(0)
		axes := append(rest(c.axis("axis", -1, x.Rank()), x.Rank()), tensor.KeepDims)
		return x.Mul(x.Mul(x).Mean(axes...).AddScalar(c.number("epsilon", 1e-5)).RSqrt()).Mul(c.x(1))
	})
	_ = simple("GroupNormalization", 18, func(c *call) *tensor.Tensor {
		x, n := c.x(0), c.integer("num_groups", 1)
		if x.Rank() < 2 || n < 1 || x.Size(1)%n != 0 {
			c.fail(views.ErrShape, "%d groups of %v", n, x.Shape())
		}
		grouped := x.Reshape(x.Size(0), n, x.Len()/max(1, x.Size(0)*n))
		y := standardized(grouped, []int{2}, c.number("epsilon", 1e-5))
		if c.opset < 21 && c.x(1).Len() == n { // a scale and a bias for each group
			return affine(y, c.x(1), c.x(2)).Reshape(x.Shape()...)
		}
		return affine(y.Reshape(x.Shape()...), c.x(1), c.x(2))
	})
	_ = simple("MeanVarianceNormalization", 9, func(c *call) *tensor.Tensor {
		x, axes := c.x(0), c.integers("axes")
		if axes == nil {
			axes = []int{0, 2, 3}
		}
		mean := x.Mean(append(slices.Clone(axes), tensor.KeepDims)...)
		centred := x.Sub(mean)
		deviation := centred.Mul(centred).Mean(append(slices.Clone(axes), tensor.KeepDims)...).Sqrt()
		return centred.Div(deviation.AddScalar(1e-9))
	})
	_ = simple("LpNormalization", 1, func(c *call) *tensor.Tensor {
		x := c.x(0)
		axis := c.axis("axis", -1, x.Rank())
		norm := x.Abs().Sum(axis, tensor.KeepDims)
		if c.integer("p", 2) == 2 {
			norm = x.Mul(x).Sum(axis, tensor.KeepDims).Sqrt()
		}
		return x.Div(norm).MaskedFill(norm.EqScalar(0), 0)
	})
	_ = simple("LRN", 1, func(c *call) *tensor.Tensor {
		x, size := c.x(0), c.integer("size", 1)
		if size < 1 || x.Rank() < 2 {
			c.fail(views.ErrShape, "size %d of %v", size, x.Shape())
		}
		squares := x.Mul(x)
		around := make([]int, 2*(x.Rank()-1))
		around[len(around)-2], around[len(around)-1] = (size-1)/2, size/2
		padded := squares.PadConstant(0, around...)
		sum := padded.Narrow(1, 0, x.Size(1))
		for i := 1; i < size; i++ {
			sum = sum.Add(padded.Narrow(1, i, x.Size(1)))
		}
		base := sum.MulScalar(c.number("alpha", 1e-4) / float64(size)).AddScalar(c.number("bias", 1))
		return x.Div(base.PowScalar(c.number("beta", 0.75)))
	})
	_ = simple("Softmax", 1, func(c *call) *tensor.Tensor { return c.alongClasses((*tensor.Tensor).Softmax) })
	_ = simple("LogSoftmax", 1, func(c *call) *tensor.Tensor { return c.alongClasses((*tensor.Tensor).LogSoftmax) })
	_ = simple("Hardmax", 1, func(c *call) *tensor.Tensor {
		return c.alongClasses(func(x *tensor.Tensor, axis int) *tensor.Tensor {
			shape := repeat(1, x.Rank())
			shape[axis] = x.Size(axis)
			classes := c.elements(tensor.Arange(dtype.Int64, 0, float64(x.Size(axis)), 1)).Reshape(shape...)
			return x.ArgMax(axis).Cast(dtype.Int64).Unsqueeze(axis).Eq(classes).Cast(x.DType())
		})
	})
)

// alongClasses applies f along an axis: the named one, or before opset 13 it and all after it as one.
func (c *call) alongClasses(f func(x *tensor.Tensor, axis int) *tensor.Tensor) *tensor.Tensor {
	x := c.x(0)
	if c.opset >= 13 {
		return f(x, c.axis("axis", -1, x.Rank()))
	}
	axis := c.axis("axis", 1, x.Rank())
	if axis == x.Rank()-1 {
		return f(x, axis)
	}
	return f(x.Reshape(product(x.Shape()[:axis]), product(x.Shape()[axis:])), 1).Reshape(x.Shape()...)
}

// standardized returns (x − mean)/√(variance + eps) along axes.
func standardized(x *tensor.Tensor, axes []int, eps float64) *tensor.Tensor {
	axes = append(slices.Clone(axes), tensor.KeepDims)
	centred := x.Sub(x.Mean(axes...))
	return centred.Mul(centred.Mul(centred).Mean(axes...).AddScalar(eps).RSqrt())
}

// affine returns x·scale + bias, which have an element for each channel of x (N, C, …).
func affine(x, scale, bias *tensor.Tensor) *tensor.Tensor {
	shape := repeat(1, x.Rank()-1)
	shape[0] = scale.Len()
	return x.Mul(scale.Reshape(shape...)).Add(bias.Reshape(shape...))
}

func layerNormalization(c *call) []*tensor.Tensor {
	x, eps := c.x(0), c.number("epsilon", 1e-5)
	axis := c.axis("axis", -1, x.Rank())
	if !c.outputs(1) && !c.outputs(2) {
		scale, bias, shape := c.x(1), c.optional(2), x.Shape()[axis:]
		if slices.Equal(scale.Shape(), shape) && (bias == nil || slices.Equal(bias.Shape(), shape)) && eps > 0 {
			return one(tensor.LayerNorm(x, shape, scale, bias, eps))
		}
	}
	axes := append(rest(axis, x.Rank()), tensor.KeepDims)
	mean := x.Mean(axes...)
	centred := x.Sub(mean)
	inverse := centred.Mul(centred).Mean(axes...).AddScalar(eps).RSqrt()
	y := centred.Mul(inverse).Mul(c.x(1))
	if c.has(2) {
		y = y.Add(c.x(2))
	}
	return []*tensor.Tensor{y, mean, inverse}
}
