package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

// CastOptions are the settings of a Cast.
type CastOptions struct {
	DType dtype.Type `json:"dtype"` // required
}

// Cast converts x to another element type, as x.to(dtype) does in PyTorch: floats to the integers of an embedding, or integers to floats.
type Cast struct{ CastOptions }

// NewCast returns a Cast. DType is required.
func NewCast(o CastOptions) Cast {
	if o.DType == dtype.Invalid {
		tensor.Fail("cast", ErrConfig, "no dtype; want one, such as float32 or int64")
	}
	return Cast{o}
}

// Forward returns x in the type.
func (c Cast) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Cast(c.DType) }

var _ = RegisterLayer("cast", NewCast, CastOptions{})
