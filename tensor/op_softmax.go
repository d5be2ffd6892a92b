package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Softmax returns eˣ / Σ eˣ along axis, without overflow.
func (x *Tensor) Softmax(axis int) *Tensor {
	return Apply(softmax{kernels.Softmax, kernels.SoftmaxSlope, x.axis("softmax", axis)}, x.ToFloat32())
}

// LogSoftmax returns x − log Σ eˣ along axis, without overflow.
func (x *Tensor) LogSoftmax(axis int) *Tensor {
	return Apply(softmax{kernels.LogSoftmax, kernels.LogSoftmaxSlope, x.axis("log softmax", axis)}, x.ToFloat32())
}

// softmax is either of the two; grad is dx from y and dy.
type softmax struct {
	f, grad *kernels.Kernel
	axis    int
}

func (op softmax) Name() string { return op.f.Name }

func (op softmax) Infer(in ...*Tensor) (dtype.Type, views.View) {
	wantFloat(op.Name(), in[0])
	return in[0].Type, views.Like(in[0].View)
}

func (op softmax) Forward(w *Context, y storage.Array, in ...storage.Array) error {
	return w.Run(op.f, kernels.SoftmaxSet{Axis: op.axis}, []storage.Array{y}, in...)
}

func (op softmax) Backward(y, dy *Tensor, _ ...*Tensor) []*Tensor {
	return []*Tensor{runKernel(op.grad, kernels.SoftmaxSet{Axis: op.axis}, like(y), y, dy)}
}

var (
	_ = Register("softmax", unary(func(x *Tensor) *Tensor { return x.Softmax(-1) }), In(3, 5).Rows())
	_ = Register("softmax 1", unary(func(x *Tensor) *Tensor { return x.Softmax(1) }), In(2, 3, 4).Rows())
	_ = Register("log softmax", unary(func(x *Tensor) *Tensor { return x.LogSoftmax(-1) }), In(3, 5).Rows())
	_ = Register("log softmax 0", unary(func(x *Tensor) *Tensor { return x.LogSoftmax(0) }), In(3, 5).Rows())
)
