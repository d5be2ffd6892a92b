package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Format says what the elements of a tensor's array stand for, where that is not
// simply the tensor's elements, and how its axes are called. [Tensor.checkFormat] is the only
// place where operations refuse the formats that they do not handle. (Meta tensors are a
// device: see [Meta]. Sparse tensors are made of tensors: see package sparse.)
type Format struct {
	Names     []string      // of the axes, "" for one without; nil if none has one
	Quantized *Quantization // nil if elements are the numbers themselves
}

// Quantization is how integers stand for numbers: number = scale·(integer − zero point). There
// is one scale and one zero point for all elements, or one of each for every index of Axis.
type Quantization struct {
	Scales     []float64
	ZeroPoints []int
	Axis       int // of the channels, if there are several scales
}

// NewFormat returns a constant whose array stands for its elements as f says.
func NewFormat(a storage.Array, f Format) (*Tensor, error) {
	x := FromArray(a)
	return x, Try(func() {
		const act = "new format"
		if f.Names != nil {
			checkNames(act, f.Names, a.Shape)
		}
		if f.Quantized != nil {
			f.Quantized.check(act, a.Type, a.Shape)
		}
		x.format = f.orNil()
	})
}

// check fails unless q is a quantization of integers of type t of the given shape.
func (q *Quantization) check(act string, t dtype.Type, shape []int) {
	least, most, ok := integerRange(t)
	if !ok {
		fail(act, ErrType, "%v quantized; want int8, uint8, int16 or uint16", t)
	}
	if n := len(q.Scales); n != len(q.ZeroPoints) || n != 1 && (q.Axis < 0 || q.Axis >= len(shape) || shape[q.Axis] != n) {
		fail(act, ErrShape, "%d scales and %d zero points for axis %d of %v; want one of each, or one for each index", n, len(q.ZeroPoints), q.Axis, shape)
	}
	for i, scale := range q.Scales {
		if s := float32(scale); !(s > 0) || s > 1e38 {
			fail(act, ErrType, "scale %v; want a positive number", scale)
		}
		if z := q.ZeroPoints[i]; z < least || z > most {
			fail(act, ErrType, "zero point %d; want one of %v, from %d to %d", z, t, least, most)
		}
	}
}

// integerRange returns the numbers that a type of quantized integers holds.
func integerRange(t dtype.Type) (least, most int, ok bool) {
	switch t {
	case dtype.Int8, dtype.Int16:
		most = 1<<(8*t.Size()-1) - 1
		return -most - 1, most, true
	case dtype.Uint8, dtype.Uint16:
		return 0, 1<<(8*t.Size()) - 1, true
	}
	return 0, 0, false
}

// Format returns the format of x: the zero Format for an ordinary tensor.
func (x *Tensor) Format() Format {
	if x.format == nil {
		return Format{}
	}
	return *x.format
}

// orNil returns f, or nil for the format of an ordinary tensor.
func (f Format) orNil() *Format {
	if !slices.ContainsFunc(f.Names, func(name string) bool { return name != "" }) {
		f.Names = nil
	}
	if f.Names == nil && f.Quantized == nil {
		return nil
	}
	return &f
}

// checkFormat fails if op, nil for an act that concerns elements alone, does not handle x's format.
func (x *Tensor) checkFormat(act string, op any) {
	if x.format == nil {
		return
	}
	_, isView := op.(viewer)
	if x.format.Quantized != nil && !isView && !keepsFormat(op) {
		fail(act, ErrState, "has no rule for quantized tensors; call Dequantize first")
	}
	if x.format.Names != nil && op != nil && !isView && namerOf(op) == nil {
		fail(act, ErrState, "has no rule for named axes, %q; call Unnamed first", x.format.Names)
	}
}

// keepsFormat reports whether the result of op has the elements and the format of its operand.
func keepsFormat(op any) bool {
	switch op.(type) {
	case copied, move, *move:
		return true
	}
	return false
}

// formatOfView returns the format of op's result v, a view of x.
func (x *Tensor) formatOfView(op Op, v views.View) *Format {
	if x.format == nil && op.Name() != (rename{}).Name() {
		return nil
	}
	f, origins := x.Format(), op.(viewer).origins(x.array.View, v)
	if f.Names != nil {
		names := make([]string, v.Rank())
		for axis, from := range origins {
			if from >= 0 {
				names[axis] = f.Names[from]
			}
		}
		f.Names = names
	}
	if q := f.Quantized; q != nil && len(q.Scales) > 1 {
		axis := slices.Index(origins, q.Axis)
		if axis < 0 || v.Shape[axis] != len(q.Scales) || v.Stride[axis] != x.array.Stride[q.Axis] {
			fail(op.Name(), ErrState, "of the channels, axis %d, of a quantized tensor; call Dequantize first", q.Axis)
		}
		f.Quantized = &Quantization{q.Scales, q.ZeroPoints, axis}
	}
	switch op := op.(type) {
	case rename:
		f.Names = op.names
	case intRepr:
		f.Quantized = nil
	}
	return f.orNil()
}

// The attributes of a dataset that say what its elements stand for, and HDF5's names of its axes.
const (
	attrScale     = "scale"
	attrZeroPoint = "zero_point"
	attrAxis      = "axis"
	attrLabels    = "DIMENSION_LABELS"
)

// WithAttributes returns a constant over a dataset's array that stands for its elements as the
// attributes of the dataset say: DIMENSION_LABELS name its axes, and integers with a scale and a
// zero_point are quantized, along axis if these have several elements. Attributes are strings,
// []string or arrays, as in entries of files; others are ignored.
func WithAttributes(a storage.Array, attrs map[string]any) (*Tensor, error) {
	var f Format
	if labels, ok := attrs[attrLabels].([]string); ok && len(labels) == a.Rank() && !repeats(labels) {
		f.Names = labels
	}
	scales, err := attributeNumbers[float64](attrs, attrScale)
	if err != nil {
		return nil, err
	}
	zeros, err := attributeNumbers[int64](attrs, attrZeroPoint)
	if err != nil {
		return nil, err
	}
	if scales == nil || zeros == nil || !a.Type.IsInt() {
		return NewFormat(a, f)
	}
	q := &Quantization{Scales: scales, ZeroPoints: make([]int, len(zeros))}
	for i, zero := range zeros {
		q.ZeroPoints[i] = int(zero)
	}
	axis, err := attributeNumbers[int64](attrs, attrAxis)
	if err != nil {
		return nil, err
	}
	if len(axis) == 1 {
		q.Axis = int(axis[0])
	}
	f.Quantized = q
	return NewFormat(a, f)
}

// attributeNumbers returns the elements of an attribute, nil for a missing one or one without numbers.
func attributeNumbers[T dtype.Go](attrs map[string]any, name string) ([]T, error) {
	a, ok := attrs[name].(storage.Array)
	if !ok || a.Type.IsComplex() {
		return nil, nil
	}
	return storage.Read[T](a)
}

// Attributes returns the attributes by which [WithAttributes] finds the format of x again; nil
// for an ordinary tensor.
func (x *Tensor) Attributes() map[string]any {
	if x.format == nil {
		return nil
	}
	attrs := map[string]any{}
	if x.format.Names != nil {
		attrs[attrLabels] = x.format.Names
	}
	if q := x.format.Quantized; q != nil {
		zeros := make([]int64, len(q.ZeroPoints))
		for i, zero := range q.ZeroPoints {
			zeros[i] = int64(zero)
		}
		shape := []int{}
		if len(q.Scales) > 1 {
			shape = []int{len(q.Scales)}
			attrs[attrAxis] = storage.From([]int64{int64(q.Axis)})
		}
		attrs[attrScale], attrs[attrZeroPoint] = storage.From(q.Scales, shape...), storage.From(zeros, shape...)
	}
	return attrs
}
