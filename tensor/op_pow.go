package tensor

import (
	"reflect"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Pow returns x to the power of y, elementwise, broadcasting their shapes. Powers of integers wrap around, and are 0 where
// they would be fractions.
func (x *Tensor) Pow(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.Pow, grad: powGrad}, x, y) }

func powGrad(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	zero := dz.constant(0)
	return x.ifNeeded(func() *Tensor {
			return Where(y.EqScalar(0), zero, dz.Mul(y).Mul(x.Pow(y.AddScalar(-1))))
		}), y.ifNeeded(func() *Tensor {
			return Where(x.EqScalar(0).BitAnd(y.GeScalar(0)), zero, dz.Mul(z).Mul(x.Log()))
		})
}

// PowScalar returns x to the power of s. Integers refuse negative integers, as in PyTorch.
func (x *Tensor) PowScalar(s any) *Tensor {
	if v, ok := x.realBeside(s); ok {
		switch v {
		case 2:
			return x.Square()
		case 0.5:
			return x.Sqrt()
		case -1:
			return x.Reciprocal()
		}
	} else if v := reflect.ValueOf(s); v.CanInt() && v.Int() < 0 && x != nil && !x.DType().IsComplex() {
		fail("pow scalar", ErrType, "%v to the power of %d; Cast it to a float type first", x.DType(), v.Int())
	}
	return x.withNumber("pow scalar", s, (*Tensor).Pow)
}

// Square returns x², elementwise.
func (x *Tensor) Square() *Tensor { return x.Mul(x) }

// Reciprocal returns 1/x, elementwise, as [Tensor.Div] divides.
func (x *Tensor) Reciprocal() *Tensor { return x.RDivScalar(1) }

// RSqrt returns 1/√x, elementwise.
func (x *Tensor) RSqrt() *Tensor { return x.Sqrt().Reciprocal() }

var (
	_ = registerBroadcasts("pow", func(x, y *Tensor) *Tensor { return x.floating().Square().AddScalar(0.5).Pow(y.floating()) }, samples.Normal)
	_ = registerScalar("pow scalar", (*Tensor).PowScalar, 3, samples.Normal)
	_ = registerScalar("pow scalar 2.5", (*Tensor).PowScalar, 2.5, samples.Positive)
	_ = registerUnary("square", (*Tensor).Square, samples.Normal)
	_ = registerUnary("reciprocal", (*Tensor).Reciprocal, samples.Positive)
	_ = registerUnary("rsqrt", (*Tensor).RSqrt, samples.Positive)
)
