package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// ClassTokenOptions are the settings of a ClassToken.
type ClassTokenOptions struct {
	EmbeddingDim int            `json:"embedding_dim"`  // features of a step; required
	DType        dtype.Type     `json:"dtype,omitzero"` // float32 if absent
	Device       storage.Device `json:"-" nn:"-"`       // the CPU if nil
}

// ClassToken puts one more step before those of x (N, T, EmbeddingDim): Weight, which is trained (Dosovitskiy et al., arXiv:2010.11929).
type ClassToken struct {
	ClassTokenOptions
	Weight *Parameter // EmbeddingDim
}

// NewClassToken returns a ClassToken. EmbeddingDim is required.
func NewClassToken(o ClassTokenOptions) *ClassToken {
	alloc := NewAllocator("class_token", o.Device, o.DType)
	o.Device, o.DType = alloc.Device, alloc.DType
	return &ClassToken{o, alloc.Param(NormalFill(0.02), o.EmbeddingDim)}
}

// Forward returns x with the step before it.
func (c *ClassToken) Forward(x *tensor.Tensor) *tensor.Tensor {
	wantMade("class_token", c.Weight != nil)
	if x.Rank() != 3 || x.Shape()[2] != c.EmbeddingDim {
		tensor.Fail("class_token", views.ErrShape, "input %v; want (samples, steps, %d)", x.Shape(), c.EmbeddingDim)
	}
	checkDevice("class_token", x, c.Weight.Device())
	return tensor.Cat(1, c.Weight.Expand(x.Shape()[0], 1, c.EmbeddingDim), x)
}

var _ = RegisterLayer("class_token", NewClassToken, ClassTokenOptions{})
