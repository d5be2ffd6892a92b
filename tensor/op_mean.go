package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Mean returns the mean along axes, or of everything if none are named.
func (x *Tensor) Mean(axes ...int) *Tensor {
	return reduce(kernels.Mean, x.Widened(), axes, false, meanSlope)
}

// MeanKeep is Mean with the axes kept, of size 1.
func (x *Tensor) MeanKeep(axes ...int) *Tensor {
	return reduce(kernels.Mean, x.Widened(), axes, true, meanSlope)
}

func meanSlope(x, y, dy *Tensor) *Tensor {
	return dy.Scale(1 / count(x, y)).Broadcast(x.Shape...)
}

var (
	_ = Register("mean", unary(func(x *Tensor) *Tensor { return x.Mean() }), In(2, 3))
	_ = Register("mean 0", unary(func(x *Tensor) *Tensor { return x.Mean(0) }), In(2, 3, 4))
	_ = Register("mean 1,2", unary(func(x *Tensor) *Tensor { return x.MeanKeep(1, 2) }), In(2, 3, 4).Rows())
)
