package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Quotients and remainders of integers by 0 are 0, as NumPy's are, on all devices; PyTorch's CPU fails.

// FloorDiv returns x / y rounded towards −∞, elementwise, in the type that they are promoted to, as Python's //. It has a
// derivative of 0.
func (x *Tensor) FloorDiv(y *Tensor) *Tensor {
	return binary(binaryOp{f: kernels.FloorDiv, grad: func(_, _, _, dz *Tensor) (dx, dy *Tensor) { return dz.constant(0), dz.constant(0) }}, x, y)
}

// Remainder returns x − y·FloorDiv(x, y), elementwise, which has the sign of y, as Python's %.
func (x *Tensor) Remainder(y *Tensor) *Tensor {
	return binary(binaryOp{f: kernels.Remainder, grad: remainderGrad}, x, y)
}

func remainderGrad(x, y, _, dz *Tensor) (dx, dy *Tensor) {
	return dz, y.ifNeeded(func() *Tensor { return dz.Mul(x.Detach().FloorDiv(y.Detach())).Neg() })
}

// FMod returns what is left of x after as many times y as fit, elementwise, which has the sign of x, as C's fmod.
func (x *Tensor) FMod(y *Tensor) *Tensor {
	return binary(binaryOp{f: kernels.FMod, grad: fmodGrad}, x, y)
}

func fmodGrad(x, y, _, dz *Tensor) (dx, dy *Tensor) {
	return dz, y.ifNeeded(func() *Tensor { return dz.Mul(x.Detach().Div(y.Detach()).Trunc()).Neg() })
}

// FloorDivScalar returns x / s rounded towards −∞, as [Tensor.FloorDiv] does.
func (x *Tensor) FloorDivScalar(s any) *Tensor {
	return x.withNumber("floor div scalar", s, (*Tensor).FloorDiv)
}

// RemainderScalar returns the remainder of x by s, as [Tensor.Remainder] does.
func (x *Tensor) RemainderScalar(s any) *Tensor {
	return x.withNumber("remainder scalar", s, (*Tensor).Remainder)
}

// FModScalar returns the remainder of x by s, as [Tensor.FMod] does.
func (x *Tensor) FModScalar(s any) *Tensor { return x.withNumber("fmod scalar", s, (*Tensor).FMod) }

// The following take integers and bools.

// BitAnd returns x & y, elementwise.
func (x *Tensor) BitAnd(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.BitAnd}, x, y) }

// BitOr returns x | y, elementwise.
func (x *Tensor) BitOr(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.BitOr}, x, y) }

// BitXor returns x ^ y, elementwise.
func (x *Tensor) BitXor(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.BitXor}, x, y) }

// BitNot returns x with all bits inverted, and bools negated.
func (x *Tensor) BitNot() *Tensor {
	if checkGiven("bit not", x); x.DType() == dtype.Bool {
		return x.BitXor(x.constant(1))
	}
	return x.BitXor(x.constant(0).SubScalar(1)) // wraps to all bits of unsigned integers
}

// ShiftLeft returns x·2ʸ, elementwise, without the bits that overflow: 0 for y below 0 or beyond all bits.
func (x *Tensor) ShiftLeft(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.ShiftLeft}, x, y) }

// ShiftRight returns x/2ʸ rounded towards −∞, elementwise; y below 0 counts as more than all bits.
func (x *Tensor) ShiftRight(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.ShiftRight}, x, y) }

// And returns whether neither x nor y is 0, elementwise, as bools: of any types.
func (x *Tensor) And(y *Tensor) *Tensor { return x.Cast(dtype.Bool).BitAnd(y.Cast(dtype.Bool)) }

// Or returns whether x or y is not 0, elementwise, as bools: of any types.
func (x *Tensor) Or(y *Tensor) *Tensor { return x.Cast(dtype.Bool).BitOr(y.Cast(dtype.Bool)) }

// Xor returns whether just one of x and y is 0, elementwise, as bools: of any types.
func (x *Tensor) Xor(y *Tensor) *Tensor { return x.Cast(dtype.Bool).BitXor(y.Cast(dtype.Bool)) }

// Not returns whether x is 0, elementwise, as bools: of any type.
func (x *Tensor) Not() *Tensor { return x.EqScalar(0) }

// registerIntegers registers a method of two integers.
func registerIntegers(name string, f func(x, y *Tensor) *Tensor) bool {
	call := func(in ...*Tensor) *Tensor { return f(in[0].Cast(dtype.Int32), in[1].Cast(dtype.Int64)) }
	samples.Register(name, call, samples.In(2, 3), samples.In(1, 3))
	return samples.Register(name, call, samples.Classes(200, 6).Rows(), samples.Classes(9, 6).Rows())
}

var (
	_ = registerBroadcasts("floor div", (*Tensor).FloorDiv, samples.Positive)
	_ = registerBroadcasts("remainder", (*Tensor).Remainder, samples.Positive)
	_ = registerBroadcasts("fmod", (*Tensor).FMod, samples.Positive)
	_ = registerScalar("floor div scalar", (*Tensor).FloorDivScalar, -0.75, samples.Normal)
	_ = registerScalar("remainder scalar", (*Tensor).RemainderScalar, -0.75, samples.Normal)
	_ = registerScalar("fmod scalar", (*Tensor).FModScalar, -0.75, samples.Normal)
	_ = registerIntegers("bit and", (*Tensor).BitAnd)
	_ = registerIntegers("bit or", (*Tensor).BitOr)
	_ = registerIntegers("bit xor", (*Tensor).BitXor)
	_ = registerIntegers("shift left", (*Tensor).ShiftLeft)
	_ = registerIntegers("shift right", (*Tensor).ShiftRight)
	_ = registerUnary("bit not", func(x *Tensor) *Tensor { return x.Cast(dtype.Int16).BitNot() }, samples.Normal)
	_ = registerBroadcasts("and", (*Tensor).And, samples.Bools)
	_ = registerBroadcasts("or", (*Tensor).Or, samples.Bools)
	_ = registerBroadcasts("xor", (*Tensor).Xor, samples.Bools)
	_ = registerUnary("not", (*Tensor).Not, samples.Bools)
)
