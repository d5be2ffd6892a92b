package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// elementwise is the family of operations y[i] = f(x[i]).
type unaryOp struct {
	f *kernels.Kernel
	// grad returns dx from dy and whichever of x and y is simpler.
	grad func(x, y, dy *Tensor) *Tensor
}

func (op unaryOp) Name() string { return op.f.Name }

func (op unaryOp) Infer(in ...*Tensor) (dtype.Type, views.View) {
	return in[0].Type, views.Like(in[0].View)
}

func (op unaryOp) Forward(w *Context, y storage.Array, in ...storage.Array) error {
	return w.Run(op.f, nil, []storage.Array{y}, in...)
}

func (op unaryOp) Backward(y, dy *Tensor, in ...*Tensor) []*Tensor {
	return []*Tensor{op.grad(in[0], y, dy)}
}

// unary makes a method of one operand what Register takes.
func unary(f func(x *Tensor) *Tensor) func(in ...*Tensor) *Tensor {
	return func(in ...*Tensor) *Tensor { return f(in[0]) }
}

// wantFloat fails for tensors that derivatives make no sense for.
func wantFloat(op string, xs ...*Tensor) {
	for _, x := range xs {
		if !x.Type.IsFloat() || x.Type.StorageOnly() {
			fail(op, ErrType, "of %v; Cast to float32 or float64 first", x.Type)
		}
	}
}
