package tensor

import (
	"fmt"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// At returns the element at an index for each axis, from the end if negative, as Item does.
func (x *Tensor) At(index ...int) float64 { return x.elementAt("at", index).Item() }

// At is [Tensor.At] as a T, for integers of more than 53 bits and complex numbers; it fails for an element that T cannot
// hold. At[int64](x), without an index, is the only element of x.
func At[T dtype.Go](x *Tensor, index ...int) T {
	checkGiven("at", x)
	if len(index) == 0 && x.Len() == 1 {
		return Values[T](x)[0]
	}
	return Values[T](x.elementAt("at", index))[0]
}

// Set changes the element at an index for each axis to value, a Go number or bool: the first argument, because the
// others are any number. It obeys the rules of operations in place.
func (x *Tensor) Set(value any, index ...int) {
	element := x.elementAt("set", index)
	element.Assign(element.number("set", x.DType(), numberOf("set", value)))
}

// elementAt returns the element at an index for each axis, without axes.
func (x *Tensor) elementAt(act string, index []int) *Tensor {
	checkGiven(act, x)
	if len(index) != x.Rank() {
		fail(act, ErrShape, "%d indices of %v; want one for each axis", len(index), x.Shape())
	}
	for _, i := range index {
		x = x.Select(0, i)
	}
	return x
}

// Size returns the size of an axis: PyTorch's x.size(axis).
func (x *Tensor) Size(axis int) int { return x.Shape()[x.axis("size", axis)] }

// Float is [Tensor.Cast] to float32.
func (x *Tensor) Float() *Tensor { return x.Cast(dtype.Float32) }

// Double is [Tensor.Cast] to float64.
func (x *Tensor) Double() *Tensor { return x.Cast(dtype.Float64) }

// Long is [Tensor.Cast] to int64.
func (x *Tensor) Long() *Tensor { return x.Cast(dtype.Int64) }

// Half is [Tensor.Cast] to float16.
func (x *Tensor) Half() *Tensor { return x.Cast(dtype.Float16) }

// Int is [Tensor.Cast] to int32.
func (x *Tensor) Int() *Tensor { return x.Cast(dtype.Int32) }

// Short is [Tensor.Cast] to int16.
func (x *Tensor) Short() *Tensor { return x.Cast(dtype.Int16) }

// Bool is [Tensor.Cast] to bool: whether elements are not 0.
func (x *Tensor) Bool() *Tensor { return x.Cast(dtype.Bool) }

// String returns the elements of a tensor in host memory as NumPy prints them, of a large one the corners, and then type
// and shape: "[1. 2.] float32[2]". Of a quantized tensor they are what its integers stand for. Of other tensors it returns type, shape and device, without reading elements.
func (x *Tensor) String() string {
	if x == nil {
		return "nil tensor"
	}
	about := fmt.Sprintf("%v%v", x.DType(), x.Shape())
	if names := x.Names(); names != nil {
		about += fmt.Sprintf(" with axes %q", names)
	}
	if x.requiresGrad {
		about += ", requires gradient"
	}
	switch err := x.aliveErr("string"); {
	case err != nil:
		return about + ", whose memory is no longer its own"
	case x.Device() != storage.CPU || x.IsLazy():
		return fmt.Sprintf("%s on %v", about, x.Device())
	case x.Format().Quantized != nil:
		return about
	}
	elems := x.array
	if q := x.Format().Quantized; q != nil {
		elems = x.Dequantize().array
		if len(q.Scales) == 1 {
			about += fmt.Sprintf(", scale %v, zero point %d", q.Scales[0], q.ZeroPoints[0])
		} else {
			about += fmt.Sprintf(", scales along axis %d", q.Axis)
		}
	}
	text, err := arrayfmt.Format(elems, arrayfmt.LineWidth)
	if err != nil {
		return fmt.Sprintf("%s: %v", about, err)
	}
	return text + " " + about
}
