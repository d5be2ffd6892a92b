package onnxgraph

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = simple("QuantizeLinear", 10, func(c *call) *tensor.Tensor {
		x, scale, zero := c.x(0), c.x(1), c.optional(2)
		t := c.typ("output_dtype", dtype.Uint8)
		if zero != nil {
			t = zero.DType()
		}
		return c.quantized(x, scale, zero, t)
	})
	_ = simple("DequantizeLinear", 10, func(c *call) *tensor.Tensor { return c.dequantized(c.x(0), c.x(1), c.optional(2)) })
	_ = add(rule{op: "DynamicQuantizeLinear", since: 11, run: func(c *call) []*tensor.Tensor {
		x := c.x(0)
		low, high := x.Min().Clamp(nil, 0), x.Max().Clamp(0, nil)
		scale := high.Sub(low).DivScalar(255)
		zero := low.Neg().Div(scale).NanToNum(0).Round().Clamp(0, 255)
		y := x.Div(scale).Round().Add(zero).NanToNum(0).Clamp(0, 255)
		return []*tensor.Tensor{y.Cast(dtype.Uint8), scale, zero.Cast(dtype.Uint8)}
	}})
	_ = simple("MatMulInteger", 10, func(c *call) *tensor.Tensor {
		return c.shifted(0, 2, -2).MatMul(c.shifted(1, 3, -1)).Cast(dtype.Int32)
	})
	_ = simple("ConvInteger", 10, func(c *call) *tensor.Tensor {
		return c.conv(c.shifted(0, 2, -1), c.shifted(1, 3, 0), nil).Cast(dtype.Int32)
	})
	_ = simple("QLinearMatMul", 10, func(c *call) *tensor.Tensor {
		y := c.shifted(0, 2, -2).MatMul(c.shifted(3, 5, -1))
		scale := alongAxis(c.x(1), y.Rank(), -2).Mul(alongAxis(c.x(4), y.Rank(), -1))
		return c.quantized(y.Mul(scale.Cast(y.DType())), c.x(6), c.x(7), c.x(7).DType())
	})
	_ = simple("QLinearConv", 10, func(c *call) *tensor.Tensor {
		y := c.conv(c.shifted(0, 2, -1), c.shifted(3, 5, 0), nil)
		if c.has(8) {
			y = y.Add(alongAxis(c.x(8).Cast(y.DType()), y.Rank(), 1))
		}
		scale := c.x(1).Cast(y.DType()).Mul(alongAxis(c.x(4).Cast(y.DType()), y.Rank(), 1))
		return c.quantized(y.Mul(scale), c.x(6), c.x(7), c.x(7).DType())
	})
)

// quantization joins the quantization of a value to 8 bits and back by one scale: a value that stands for integers.
func (j *joiner) quantization(n *node) bool {
	if n.op != "DequantizeLinear" || len(n.in) < 2 || n.in[0] < 0 || j.source[n.in[0]] == nil {
		return false
	}
	q := j.source[n.in[0]]
	if q.op != "QuantizeLinear" || len(q.in) != len(n.in) || len(n.in) < 3 || q.in[0] < 0 {
		return false
	}
	var numbers [2]float64
	var t dtype.Type
	for i := range numbers {
		x, y := j.m.known[q.in[1+i]], j.m.known[n.in[1+i]]
		if x == nil || y == nil || x.Len() != 1 || y.Len() != 1 || x.DType() != y.DType() {
			return false
		}
		numbers[i], t = x.Reshape().Item(), x.DType()
		if numbers[i] != y.Reshape().Item() {
			return false
		}
	}
	limit, ok := limits[t]
	if !ok || limit[1] > 255 || !(numbers[0] > 0) {
		return false
	}
	n.in = q.in[:1]
	n.rule = &rule{op: n.op, run: func(c *call) []*tensor.Tensor {
		return one(c.x(0).FakeQuantize(numbers[0], int(numbers[1]), int(limit[0]), int(limit[1])))
	}}
	return true
}

// alongAxis gives a vector the shape in which it broadcasts along an axis; a single number stays.
func alongAxis(v *tensor.Tensor, rank, axis int) *tensor.Tensor {
	if v.Len() == 1 {
		return v.Reshape()
	}
	if axis < 0 {
		axis += rank
	}
	shape := repeat(1, rank)
	shape[axis] = v.Len()
	return v.Reshape(shape...)
}

// along gives scales or zero points the shape of x: one number, one for each place of an axis, or blocks.
func (c *call) along(x, v *tensor.Tensor) *tensor.Tensor {
	if v.Len() == 1 {
		return v.Reshape()
	}
	axis := c.axis("axis", 1, x.Rank())
	if block := c.integer("block_size", 0); block > 0 {
		if v.Rank() != x.Rank() || v.Size(axis)*block < x.Size(axis) {
			c.fail(views.ErrShape, "scales %v of blocks of %d for %v", v.Shape(), block, x.Shape())
		}
		return v.RepeatInterleave(axis, block).Narrow(axis, 0, x.Size(axis))
	}
	if v.Rank() != 1 || v.Len() != x.Size(axis) {
		c.fail(views.ErrShape, "scales %v for axis %d of %v", v.Shape(), axis, x.Shape())
	}
	return alongAxis(v, x.Rank(), axis)
}

// limits are the ranges of the types that quantized elements have.
var limits = map[dtype.Type][2]float64{dtype.Int8: {-128, 127}, dtype.Uint8: {0, 255}, dtype.Int16: {-32768, 32767}, dtype.Uint16: {0, 65535}}

// quantized returns round(x/scale) + zero within the limits of t.
func (c *call) quantized(x, scale, zero *tensor.Tensor, t dtype.Type) *tensor.Tensor {
	limit, ok := limits[t]
	if !ok {
		c.fail(dtype.ErrType, "quantization to %v", t)
	}
	y := x.Div(c.along(x, scale).Cast(x.DType())).Round()
	if zero != nil {
		y = y.Add(c.along(x, zero).Cast(y.DType()))
	}
	return y.Clamp(limit[0], limit[1]).Cast(t)
}

// dequantized returns (x − zero)·scale.
func (c *call) dequantized(x, scale, zero *tensor.Tensor) *tensor.Tensor {
	if x.DType().IsFloat() {
		c.fail(storage.ErrState, "elements of %v", x.DType())
	}
	y := x.Cast(scale.DType())
	if zero != nil {
		y = y.Sub(c.along(x, zero).Cast(y.DType()))
	}
	return y.Mul(c.along(x, scale))
}

// shifted returns input i less its zero point, input z, which has an element or one for each place of an axis. The
// numbers are float64s, which hold sums of products of bytes exactly.
func (c *call) shifted(i, z, axis int) *tensor.Tensor {
	x := c.x(i).Cast(dtype.Float64)
	if !c.has(z) {
		return x
	}
	return x.Sub(alongAxis(c.x(z).Cast(dtype.Float64), x.Rank(), axis))
}
