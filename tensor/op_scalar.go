package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// MulScalar returns s·x for x of floats, in the type of x. Cast integers first.
func (x *Tensor) MulScalar(s float64) *Tensor {
	const act = "mul scalar"
	if s == 0 { // which is no scale of the kernel
		modeOf(act, nil, nil, []*Tensor{x}) // refuses formats before types
		wantFloat(act, x.Spec())
		return x.Mul(x.constant(s))
	}
	return Apply(scaleOffset{act, s, 0}, x)
}

// mulGradScalar returns s·x for a gradient x, which is never written to: x itself if s is 1.
func (x *Tensor) mulGradScalar(s float64) *Tensor {
	if s == 1 {
		return x
	}
	return x.MulScalar(s)
}

// AddScalar returns x + s for x of floats, in the type of x. Cast integers first.
func (x *Tensor) AddScalar(s float64) *Tensor { return Apply(scaleOffset{"add scalar", 1, s}, x) }

// scaleOffset is scale·x + offset.
type scaleOffset struct {
	name          string
	scale, offset float64
}

func (op scaleOffset) Name() string { return op.name }

func (op scaleOffset) Infer(in []Spec) []Spec { return likeFloat(op.Name(), in[0]) }

func (op scaleOffset) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.ScaleOffset, kernels.ScaleOffsetOptions{Scale: op.scale, Offset: op.offset}, out, in...)
}

func (op scaleOffset) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{grads[0].mulGradScalar(op.scale)}
}

var (
	_ = samples.Register("mul scalar", func(in ...*Tensor) *Tensor { return in[0].MulScalar(-1.5) }, samples.In(3, 4).Rows())
	_ = samples.Register("mul scalar", func(in ...*Tensor) *Tensor { return in[0].MulScalar(0) }, samples.In(3, 4).Rows())
	_ = samples.Register("add scalar", func(in ...*Tensor) *Tensor { return in[0].AddScalar(2) }, samples.In(3, 4).Rows())
)
