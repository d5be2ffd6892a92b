package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// A Format says what the elements of a tensor's array stand for, where that is not
// simply the tensor's elements, and how its axes are called. [NewFormat] is the only way to
// make a tensor of a format, and [Tensor.checkFormat] the only place where operations
// refuse those that they do not handle. (Meta tensors are a device: see [Meta].)
type Format struct {
	Names     []string      // of the axes, "" for one without; nil if none has one
	Quantized *Quantization // nil if elements are the numbers themselves
	Sparse    *Coordinates  // nil if every element is stored
}

// Quantization is how integers stand for numbers: number = Scale·(integer − ZeroPoint).
type Quantization struct {
	Scale     float64
	ZeroPoint int
}

// Coordinates are the places of the elements of a sparse tensor of the given shape: its
// array holds n values, and Index, int64 (n, rank), the place of each, not negative. All
// others are 0.
type Coordinates struct {
	Shape []int
	Index storage.Array
}

// NewFormat returns a constant whose array stands for its elements as f says.
func NewFormat(a storage.Array, f Format) (*Tensor, error) {
	err := Try(func() {
		if f.Names != nil {
			checkNames("new format", f.Names, a.Shape)
		}
		switch s := f.Sparse; {
		case f.Quantized != nil && (!a.Type.IsInt() || !(f.Quantized.Scale > 0)):
			fail("new format", ErrType, "%v quantized with scale %v; want integers and a positive scale", a.Type, f.Quantized.Scale)
		case s == nil:
		case f.Quantized != nil || f.Names != nil:
			fail("new format", ErrState, "a sparse tensor that is quantized or has names; want one format")
		case a.Rank() != 1 || s.Index.Type != dtype.Int64 || !slices.Equal(s.Index.Shape, []int{a.Len(), len(s.Shape)}):
			fail("new format", ErrShape, "%v values at %v of %v; want (n) values and (n, rank) of int64", a.Shape, s.Index, s.Shape)
		case s.Index.Data.Device() != Meta:
			_, err := s.places()
			check("new format", err)
		}
	})
	x := FromArray(a)
	x.format = f.orNil()
	return x, err
}

// places returns the elements of Index, each checked to be inside Shape.
func (at *Coordinates) places() ([]int64, error) {
	index, err := storage.Read[int64](at.Index)
	if err != nil {
		return nil, err
	}
	for i, place := range index {
		if axis := i % len(at.Shape); place < 0 || place >= int64(at.Shape[axis]) {
			return nil, errkind.Errorf(ErrShape, "value %d is at index %d of axis %d of %v", i/len(at.Shape), place, axis, at.Shape)
		}
	}
	return index, nil
}

// Format returns the format of x: the zero Format for an ordinary tensor.
func (x *Tensor) Format() Format {
	if x.format == nil {
		return Format{}
	}
	return *x.format
}

// A handler is an operation on tensors of other formats than the ordinary one.
type handler interface{ handles(f *Format) bool }

// checkFormat fails if op, nil for an act that concerns elements alone, does not handle x's format.
func (x *Tensor) checkFormat(act string, op any) {
	if x.format == nil {
		return
	}
	if h, ok := op.(handler); ok && h.handles(x.format) {
		return
	}
	if x.format.Quantized == nil && x.format.Sparse == nil {
		if _, ok := op.(viewer); ok || op == nil || namerOf(op) != nil {
			return
		}
	}
	switch f := x.format; {
	case f.Quantized != nil:
		fail(act, ErrState, "of a quantized tensor; call Dequantize first")
	case f.Sparse != nil:
		fail(act, ErrState, "of a sparse tensor; call ToDense first")
	default:
		fail(act, ErrState, "has no rule for named axes, %q; call Unnamed first", f.Names)
	}
}

// Dequantize returns the numbers that x's integers stand for, as float32.
func (x *Tensor) Dequantize() *Tensor {
	f := x.Format()
	if f.Quantized == nil {
		fail("dequantize", ErrState, "%v is not quantized", x.array)
	}
	q := *f.Quantized
	return Apply(dequantize{cast{dtype.Float32, q.Scale, -q.Scale * float64(q.ZeroPoint)}}, x)
}

type dequantize struct{ cast }

func (dequantize) Name() string           { return "dequantize" }
func (dequantize) handles(f *Format) bool { return f.Names == nil }

// ToDense returns x with all its elements. It works on the host.
func (x *Tensor) ToDense() *Tensor {
	if x.Format().Sparse == nil {
		fail("to dense", ErrState, "%v is not sparse", x.array)
	}
	return Apply(toDense{x.format.Sparse}, x)
}

type toDense struct{ at *Coordinates }

func (toDense) Name() string           { return "to dense" }
func (toDense) handles(f *Format) bool { return f.Sparse != nil }

func (op toDense) Infer(in []Spec) []Spec { return one(in[0].Type, views.Of(op.at.Shape...)) }

func (op toDense) Forward(c *Context, out, in []storage.Array) error {
	index, err := op.at.places()
	if err != nil {
		return err
	}
	dense := Zeros(in[0].Type, op.at.Shape...)
	values, err := in[0].To(storage.CPU)
	if err != nil {
		return err
	}
	rank := len(op.at.Shape)
	for k := range values.Len() {
		to, from := dense.array.View, values.View
		for axis := range rank {
			if to, err = to.Select(0, int(index[k*rank+axis])); err != nil {
				return err
			}
		}
		if from, err = from.Select(0, k); err != nil {
			return err
		}
		FromArray(dense.array.With(to)).AddInPlace(FromArray(values.With(from)))
	}
	return dense.CopyTo(out[0])
}

func (op toDense) Backward(out, grads, in []*Tensor) []*Tensor {
	panic(&Error{op.Name(), errkind.Errorf(ErrState, "has no gradient; Detach the sparse tensor")})
}

var _ = samples.Register("dequantize", unary(func(x *Tensor) *Tensor {
	if !x.DType().IsInt() {
		fail("dequantize", ErrType, "of %v", x.DType())
	}
	q, err := NewFormat(x.array, Format{Quantized: &Quantization{0.5, 3}})
	check("new format", err)
	return q.Dequantize()
}), samples.Classes(100, 12))
