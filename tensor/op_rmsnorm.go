package tensor

import "github.com/h5dnn/h5dnn/tensor/internal/samples"

// RMSNorm returns weight·x/√(mean(x²) + eps), with the mean over the last axes of x, of the given number; weight is broadcast, and may be
// nil (Zhang and Sennrich, arXiv:1910.07467).
func RMSNorm(x *Tensor, axes int, weight *Tensor, eps float64) *Tensor {
	checkGiven("rms norm", x)
	if axes < 1 || axes > x.Rank() {
		fail("rms norm", ErrShape, "over %d axes of %v", axes, x.Shape())
	}
	x = x.ToFloat32()
	over := []int{KeepDims}
	for axis := range axes {
		over = append(over, x.Rank()-1-axis)
	}
	y := x.Div(x.Mul(x).Mean(over...).AddScalar(eps).Sqrt())
	if weight == nil {
		return y
	}
	return y.Mul(weight)
}

func init() {
	norm := func(axes int) func(in ...*Tensor) *Tensor {
		return func(in ...*Tensor) *Tensor { return RMSNorm(in[0], axes, optional(in, 1), 1e-5) }
	}
	samples.Register("rms norm", norm(1), samples.In(4, 5).Rows(), samples.In(5))
	samples.Register("rms norm", norm(2), samples.In(2, 3, 4).Rows(), samples.In(3, 4))
	samples.Register("rms norm", norm(1), samples.In(2, 3, 4).Rows())
}
