package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Mean returns the mean along axes (see [KeepDims]), or of everything if none are named.
func (x *Tensor) Mean(axes ...int) *Tensor {
	if x != nil && x.DType().IsComplex() {
		y := x.Sum(axes...)
		return y.DivScalar(float64(x.Len()) / float64(y.Len()))
	}
	return reduce(kernels.Mean, x.ToFloat32(), axes, meanGrad)
}

func meanGrad(x, y, dy *Tensor) *Tensor {
	return dy.MulScalar(1 / count(x, y)).Expand(x.Shape()...)
}

var (
	_ = samples.Register("mean", unary(func(x *Tensor) *Tensor { return x.Mean() }), samples.In(2, 3))
	_ = samples.Register("mean 0", unary(func(x *Tensor) *Tensor { return x.Mean(0) }), samples.In(2, 3, 4))
	_ = samples.Register("mean 1,2", unary(func(x *Tensor) *Tensor { return x.Mean(1, 2, KeepDims) }), samples.In(2, 3, 4).Rows())
)
