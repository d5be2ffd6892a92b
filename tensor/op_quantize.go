package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// QuantizePerTensor returns integers of type t that stand for the elements of x, rounded and
// saturated: round(x/scale) + zeroPoint, to the bit as PyTorch's quantize_per_tensor. Int8 is
// PyTorch's qint8, uint8 its quint8. No gradient flows through it.
func (x *Tensor) QuantizePerTensor(scale float64, zeroPoint int, t dtype.Type) *Tensor {
	return x.quantize(&Quantization{Scales: []float64{scale}, ZeroPoints: []int{zeroPoint}}, t)
}

// QuantizePerChannel is QuantizePerTensor with a scale and a zero point for each index of axis.
func (x *Tensor) QuantizePerChannel(scales []float64, zeroPoints []int, axis int, t dtype.Type) *Tensor {
	return x.quantize(&Quantization{slices.Clone(scales), slices.Clone(zeroPoints), x.axis("quantize", axis)}, t)
}

func (x *Tensor) quantize(q *Quantization, t dtype.Type) *Tensor {
	const act = "quantize"
	q.check(act, t, x.Shape())
	if !x.DType().IsFloat() {
		fail(act, ErrType, "of %v; want floats", x.DType())
	}
	inverse := make([]float32, len(q.Scales))
	for i, scale := range q.Scales {
		inverse[i] = 1 / float32(scale)
	}
	least, most, _ := integerRange(t)
	scaled := x.Detach().Cast(dtype.Float32).Mul(q.channels(x, storage.From(inverse, len(inverse))))
	y := scaled.Round().Add(q.zeroPoints(x)).Clamp(least, most).Cast(t)
	z := *y
	f := y.Format()
	f.Quantized = q
	z.format = f.orNil()
	return &z
}

// channels returns one number, or one for each channel, in a shape that is broadcast to x's.
func (q *Quantization) channels(x *Tensor, numbers storage.Array) *Tensor {
	there := x.onDevice(numbers)
	if len(q.Scales) == 1 {
		return there.Reshape()
	}
	shape := slices.Repeat([]int{1}, x.Rank()-q.Axis)
	shape[0] = len(q.Scales)
	return there.Reshape(shape...)
}

func (q *Quantization) zeroPoints(x *Tensor) *Tensor {
	zeros := make([]float32, len(q.ZeroPoints))
	for i, zero := range q.ZeroPoints {
		zeros[i] = float32(zero)
	}
	return q.channels(x, storage.From(zeros, len(zeros)))
}

// IntRepr returns the integers of x, which is quantized, sharing its memory: PyTorch's int_repr.
func (x *Tensor) IntRepr() *Tensor {
	if x.Format().Quantized == nil {
		fail("int repr", ErrState, "%v is not quantized", x.array)
	}
	return view(intRepr{}, x, x.array.View)
}

// intRepr is the identity; its result is not quantized.
type intRepr struct{ viewOp }

func (intRepr) Name() string { return "int repr" }

func (intRepr) origins(from, _ views.View) []int { return sameAxes(from.Rank()) }

func (intRepr) Backward(out, grads, in []*Tensor) []*Tensor { return grads }

// Dequantize returns the numbers that x's integers stand for, as float32: x itself if it is not
// quantized.
func (x *Tensor) Dequantize() *Tensor {
	q := x.Format().Quantized
	if q == nil {
		return x
	}
	scales, t := q.channels(x, storage.From(q.Scales, len(q.Scales))), dtype.Float32
	if len(q.Scales) > 1 {
		t = dtype.Float64 // as PyTorch computes with channels
	}
	return x.IntRepr().Cast(t).Sub(q.zeroPoints(x).Cast(t)).Mul(scales.Cast(t)).Cast(dtype.Float32)
}

var (
	_ = samples.Register("quantize per tensor", unary(func(x *Tensor) *Tensor {
		return x.QuantizePerTensor(0.125, 3, dtype.Uint8).IntRepr()
	}), samples.In(3, 4))
	_ = samples.Register("quantize per channel", unary(func(x *Tensor) *Tensor {
		return x.QuantizePerChannel([]float64{0.125, 0.0625, 0.5}, []int{0, -3, 100}, 0, dtype.Int8).IntRepr()
	}), samples.In(3, 4))
	_ = samples.Register("dequantize", unary(func(x *Tensor) *Tensor {
		if !x.DType().IsInt() {
			fail("dequantize", ErrType, "of %v", x.DType())
		}
		q, err := NewFormat(x.Unnamed().array, Format{Quantized: &Quantization{[]float64{0.5}, []int{3}, 0}})
		check("new format", err)
		return q.Dequantize()
	}), samples.Classes(100, 12))
)
