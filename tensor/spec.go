package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// A Spec describes a tensor without its elements: enough for an operation to check its
// operands and to describe its results.
type Spec struct {
	Type dtype.Type
	views.View
	// PreferRowMajor asks operations whose results could have the layout of this
	// operand, such as pooling, for row-major results: see [Tensor.PreferRowMajor].
	PreferRowMajor bool
	// Format is the tensor's format; nil for an ordinary tensor.
	Format *Format
}

// Spec describes x.
func (x *Tensor) Spec() Spec { return Spec{x.DType(), x.array.View, x.rowMajor, x.format} }

// one returns the specification of a single result.
func one(t dtype.Type, v views.View) []Spec { return []Spec{{Type: t, View: v}} }

// like is the Spec of an array of the type and shape of x, in a dense layout like x's.
func like(x *Tensor) Spec { return Spec{Type: x.DType(), View: views.Like(x.array.View)} }

// likeFloat is the specification of a result like x, which must have a derivative.
func likeFloat(op string, x Spec) []Spec {
	wantFloat(op, x)
	return one(x.Type, views.Like(x.View))
}

// wantFloat fails for operands that have no derivative.
func wantFloat(op string, xs ...Spec) {
	for i := range xs {
		if t := xs[i].Type; !t.IsFloat() || t.StorageOnly() {
			fail(op, ErrType, "of %v; Cast to float32 or float64 first", t)
		}
	}
}
