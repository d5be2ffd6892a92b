package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Sum returns the sum along axes (see [KeepDims]), or of everything if none are named. Integers
// and bools are added up as int64, except uint64, which wraps.
func (x *Tensor) Sum(axes ...int) *Tensor {
	if x != nil && x.DType().IsComplex() {
		return Complex(x.part(0).Sum(axes...), x.part(1).Sum(axes...))
	}
	return reduce(kernels.Sum, x.ToFloat32(), axes, sumGrad)
}

func sumGrad(x, y, dy *Tensor) *Tensor { return dy.Expand(x.Shape()...) }

var (
	_ = samples.Register("sum", unary(func(x *Tensor) *Tensor { return x.Sum() }), samples.In(2, 3).Rows())
	_ = samples.Register("sum 0", unary(func(x *Tensor) *Tensor { return x.Sum(0) }), samples.In(2, 3, 4).Rows())
	_ = samples.Register("sum 1", unary(func(x *Tensor) *Tensor { return x.Sum(1) }), samples.In(2, 3, 4).Rows())
	_ = samples.Register("sum -1", unary(func(x *Tensor) *Tensor { return x.Sum(-1, KeepDims) }), samples.In(2, 3, 4).Rows())
	_ = samples.Register("sum 0,2", unary(func(x *Tensor) *Tensor { return x.Sum(0, 2) }), samples.In(2, 3, 4).Rows())
)
