package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Cast returns x with elements converted to t as dtype.Convert does.
func (x *Tensor) Cast(t dtype.Type) *Tensor {
	if x.DType() == t {
		return x
	}
	if (t.IsComplex() || x.DType().IsComplex()) && t != dtype.Bool && !x.IsLazy() {
		return x.castComplex(t)
	}
	return Apply(cast{t, 1, 0}, x)
}

// CastScaled returns scale·x + offset as float32, for x of any type, in one pass: bytes of
// an image become normalised floats.
func (x *Tensor) CastScaled(scale, offset float64) *Tensor {
	if scale == 0 { // which is no scale of the kernel
		return x.Cast(dtype.Float32).MulScalar(0).AddScalar(offset)
	}
	return Apply(cast{dtype.Float32, scale, offset}, x)
}

// cast is scale·x + offset as type to.
type cast struct {
	to            dtype.Type
	scale, offset float64
}

func (cast) Name() string { return "cast" }

// Pointwise implements [PointwiseOp].
func (cast) Pointwise() {}

func (op cast) Infer(in []Spec) []Spec { return one(op.to, views.Like(in[0].View)) }

func (op cast) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.Cast, kernels.CastOptions{Scale: op.scale, Offset: op.offset}, out, in...)
}

func (cast) reads([]*Tensor) (operands uint64, results bool) { return 0, false }

func (op cast) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{grads[0].Cast(in[0].DType()).mulGradScalar(op.scale)}
}

var _ = samples.Register("cast", func(in ...*Tensor) *Tensor { return in[0].Cast(dtype.Float64).Cast(in[0].DType()) }, samples.In(3, 4).Rows())
