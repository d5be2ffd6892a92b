package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// MeanSquaredError returns the mean over all elements of (x − y)².
func MeanSquaredError(x, y *Tensor) *Tensor {
	return Apply(&squaredError{}, x.ToFloat32(), y.ToFloat32())
}

type squaredError struct {
	grad storage.Array // 2(x − y)/n
}

func (*squaredError) Name() string { return "mean squared error" }

func (op *squaredError) Infer(in ...*Tensor) (dtype.Type, views.View) {
	x, y := in[0], in[1]
	wantFloat(op.Name(), x, y)
	if !slices.Equal(x.Shape, y.Shape) || x.Len() == 0 {
		fail(op.Name(), ErrShape, "of %v and %v; want one shape, not empty", x.Shape, y.Shape)
	}
	if x.Type != y.Type {
		fail(op.Name(), ErrType, "of %v and %v; Cast one to the other", x.Type, y.Type)
	}
	return x.Type, views.Of()
}

func (op *squaredError) Forward(w *Context, y storage.Array, in ...storage.Array) (err error) {
	if op.grad, err = w.Alloc(in[0].Type, views.Like(in[0].View)); err != nil {
		return err
	}
	return w.Run(kernels.MeanSquaredError, nil, []storage.Array{y, op.grad}, in...)
}

// storesGrad: see seed.
func (*squaredError) storesGrad() {}

func (op *squaredError) Backward(_, dy *Tensor, in ...*Tensor) []*Tensor {
	dx := dy.sameStep(op.grad).mulGrad(dy)
	return []*Tensor{dx, in[1].ifNeeded(dx.Neg)}
}

var _ = Register("mean squared error", func(in ...*Tensor) *Tensor { return MeanSquaredError(in[0], in[1]) }, In(4, 5), In(4, 5))
