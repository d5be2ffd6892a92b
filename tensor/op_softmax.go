package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Softmax returns eˣ / Σ eˣ along axis, without overflow.
func (x *Tensor) Softmax(axis int) *Tensor {
	return Apply(softmax{kernels.Softmax, kernels.SoftmaxGrad, x.axis("softmax", axis)}, x.ToFloat32())
}

// LogSoftmax returns x − log Σ eˣ along axis, without overflow.
func (x *Tensor) LogSoftmax(axis int) *Tensor {
	return Apply(softmax{kernels.LogSoftmax, kernels.LogSoftmaxGrad, x.axis("log softmax", axis)}, x.ToFloat32())
}

// softmax is either of the two; grad is dx from y and dy.
type softmax struct {
	f, grad *kernels.Kernel
	axis    int
}

func (op softmax) Name() string { return op.f.Name }

func (op softmax) Infer(in []Spec) []Spec { return likeFloat(op.Name(), in[0]) }

func (op softmax) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(op.f, kernels.SoftmaxOptions{Axis: op.axis}, out, in...)
}

func (softmax) reads([]*Tensor) (operands uint64, results bool) { return 0, true }

func (op softmax) Backward(out, grads, in []*Tensor) []*Tensor {
	y, dy := out[0], grads[0]
	if dy.noGrad {
		return []*Tensor{runKernel(op.grad, kernels.SoftmaxOptions{Axis: op.axis}, like(y), y, dy)}
	}
	if op.f == kernels.LogSoftmax {
		return []*Tensor{dy.Sub(y.Exp().Mul(dy.Sum(op.axis, KeepDims)))}
	}
	return []*Tensor{y.Mul(dy.Sub(y.Mul(dy).Sum(op.axis, KeepDims)))}
}

var (
	_ = samples.Register("softmax", unary(func(x *Tensor) *Tensor { return x.Softmax(-1) }), samples.In(3, 5).Rows())
	_ = samples.Register("softmax 1", unary(func(x *Tensor) *Tensor { return x.Softmax(1) }), samples.In(2, 3, 4).Rows())
	_ = samples.Register("log softmax", unary(func(x *Tensor) *Tensor { return x.LogSoftmax(-1) }), samples.In(3, 5).Rows())
	_ = samples.Register("log softmax 0", unary(func(x *Tensor) *Tensor { return x.LogSoftmax(0) }), samples.In(3, 5).Rows())
)
