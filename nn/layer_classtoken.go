package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// ClassTokenOptions are the settings of a ClassToken.
type ClassTokenOptions struct {
	EmbeddingDim int            `json:"embedding_dim,omitempty"` // features of a step; taken from the first input if 0
	DType        dtype.Type     `json:"dtype,omitzero"`          // the first input's if absent; float32 if embedding_dim is given
	Device       storage.Device `json:"-" nn:"-"`                // the first input's if nil; the CPU if embedding_dim is given
}

// ClassToken puts one more step before those of x (N, T, EmbeddingDim): Weight, which is trained (Dosovitskiy et al., arXiv:2010.11929).
type ClassToken struct {
	ClassTokenOptions
	deferred
	Weight *Parameter // 1 × EmbeddingDim
}

// NewClassToken returns a ClassToken, built if EmbeddingDim is given.
func NewClassToken(o ClassTokenOptions) *ClassToken {
	c := &ClassToken{ClassTokenOptions: o}
	c.prepare("class_token", o.EmbeddingDim != 0, deferral{
		c, &c.Device, &c.DType, func(x *tensor.Tensor) { c.EmbeddingDim = features(x) },
		func(alloc Allocator) { c.Weight = alloc.Param(NormalFill(0.02), 1, c.EmbeddingDim) },
	})
	return c
}

// Forward returns x with the step before it.
func (c *ClassToken) Forward(x *tensor.Tensor) *tensor.Tensor {
	c.buildFor("class_token", x)
	if x.Rank() != 3 || x.Shape()[2] != c.EmbeddingDim {
		tensor.Fail("class_token", views.ErrShape, "input %v; want (samples, steps, %d)", x.Shape(), c.EmbeddingDim)
	}
	checkDevice("class_token", x, c.Weight.Device())
	return tensor.Cat(1, c.Weight.Expand(x.Shape()[0], 1, c.EmbeddingDim), x)
}

var _ = RegisterLayer("class_token", NewClassToken, ClassTokenOptions{})
