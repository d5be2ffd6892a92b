package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// channels returns numbers, of which there is one or one for each channel, in a shape that is
// broadcast to x's.
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
	scales := make([]float32, len(q.Scales))
	for i, scale := range q.Scales {
		scales[i] = float32(scale)
	}
	return x.IntRepr().Cast(dtype.Float32).Sub(q.zeroPoints(x)).Mul(q.channels(x, storage.From(scales, len(scales))))
}

var (
	_ = samples.Register("dequantize", unary(func(x *Tensor) *Tensor {
		if !x.DType().IsInt() {
			fail("dequantize", ErrType, "of %v", x.DType())
		}
		q, err := NewFormat(x.Unnamed().array, Format{Quantized: &Quantization{[]float64{0.5}, []int{3}, 0}})
		check("new format", err)
		return q.Dequantize()
	}), samples.Classes(100, 12))
)
