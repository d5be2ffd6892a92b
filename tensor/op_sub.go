package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Sub returns x − y, elementwise, stretching shapes that allow it.
func (x *Tensor) Sub(y *Tensor) *Tensor { return zip(pairwise{f: kernels.Sub, slope: subSlope}, x, y) }

func subSlope(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	return dz, y.asks(dz.Neg)
}

var (
	_ = Register("sub", func(in ...*Tensor) *Tensor { return in[0].Sub(in[1]) }, In(2, 3).Rows(), In(2, 3).Rows())
	_ = Register("sub", func(in ...*Tensor) *Tensor { return in[0].Sub(in[1]) }, In(2, 3), In(3))
	_ = Register("sub", func(in ...*Tensor) *Tensor { return in[0].Sub(in[1]) }, In(4, 1), In(1, 5))
	_ = Register("sub", func(in ...*Tensor) *Tensor { return in[0].Sub(in[1]) }, In(2, 3, 4), In())
)
