package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// MeanSquaredError returns the mean over all elements of (x − y)².
func MeanSquaredError(x, y *Tensor) *Tensor {
	x, y = promoted("mean squared error", x.ToFloat32(), y.ToFloat32())
	return Apply(&squaredError{}, x, y)
}

type squaredError struct {
	grad *Tensor // 2(x − y)/n
}

func (*squaredError) Name() string { return "mean squared error" }

func (op *squaredError) Infer(in []Spec) []Spec {
	x, y := in[0], in[1]
	wantFloat(op.Name(), x, y)
	if !slices.Equal(x.Shape, y.Shape) || x.Len() == 0 {
		fail(op.Name(), ErrShape, "of %v and %v; want one shape, not empty", x.Shape, y.Shape)
	}
	return one(x.Type, views.Of())
}

func (op *squaredError) Forward(c *Context, out, in []storage.Array) (err error) {
	if op.grad, err = c.Save(in[0].Type, views.Like(in[0].View)); err != nil {
		return err
	}
	return c.Run(kernels.MeanSquaredError, nil, []storage.Array{out[0], op.grad.array}, in...)
}

// storesGrad: see pass.seed.
func (*squaredError) storesGrad() {}

func (op *squaredError) Backward(out, grads, in []*Tensor) []*Tensor {
	x, y, dy := in[0], in[1], grads[0]
	var dx *Tensor
	if dy.noGrad {
		dx = op.grad.mulGrad(dy)
	} else {
		dx = x.Sub(y).MulScalar(2 / float64(x.Len())).Mul(dy)
	}
	return []*Tensor{dx, y.ifNeeded(dx.Neg)}
}

var _ = samples.Register("mean squared error", func(in ...*Tensor) *Tensor { return MeanSquaredError(in[0], in[1]) }, samples.In(4, 5), samples.In(4, 5))
