package onnxgraph

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// binary registers operators of two operands that broadcast.
func binary(functions map[string]func(x, y *tensor.Tensor) *tensor.Tensor) bool {
	for op, f := range functions {
		simple(op, 1, func(c *call) *tensor.Tensor { return f(c.x(0), c.x(1)) })
	}
	return true
}

// variadic registers operators of any number of operands.
func variadic(functions map[string]func(x, y *tensor.Tensor) *tensor.Tensor) bool {
	for op, f := range functions {
		simple(op, 1, func(c *call) *tensor.Tensor {
			sum := c.x(0)
			for i := 1; i < len(c.in); i++ {
				sum = f(sum, c.x(i))
			}
			return sum
		})
	}
	return true
}

type (
	x1 = map[string]func(x *tensor.Tensor) *tensor.Tensor
	x2 = map[string]func(x, y *tensor.Tensor) *tensor.Tensor
)

var _ = unary(1, x1{
	"Abs": (*tensor.Tensor).Abs, "Neg": (*tensor.Tensor).Neg, "Exp": (*tensor.Tensor).Exp, "Log": (*tensor.Tensor).Log,
	"Sqrt": (*tensor.Tensor).Sqrt, "Reciprocal": (*tensor.Tensor).Reciprocal, "Floor": (*tensor.Tensor).Floor, "Ceil": (*tensor.Tensor).Ceil,
	"Relu": relu, "Sigmoid": (*tensor.Tensor).Sigmoid, "Tanh": (*tensor.Tensor).Tanh,
	"Softsign": (*tensor.Tensor).Softsign, "Not": (*tensor.Tensor).Not, "Identity": identity,
	"Softplus": func(x *tensor.Tensor) *tensor.Tensor { return x.Softplus() },
}) && unary(7, x1{
	"Sin": (*tensor.Tensor).Sin, "Cos": (*tensor.Tensor).Cos, "Tan": (*tensor.Tensor).Tan,
	"Asin": (*tensor.Tensor).Asin, "Acos": (*tensor.Tensor).Acos, "Atan": (*tensor.Tensor).Atan,
}) && unary(9, x1{
	"Sinh": (*tensor.Tensor).Sinh, "Cosh": (*tensor.Tensor).Cosh, "Asinh": (*tensor.Tensor).Asinh, "Acosh": (*tensor.Tensor).Acosh,
	"Atanh": (*tensor.Tensor).Atanh, "Erf": (*tensor.Tensor).Erf, "Sign": (*tensor.Tensor).Sign, "IsNaN": (*tensor.Tensor).IsNaN,
}) && unary(11, x1{
	"Round": func(x *tensor.Tensor) *tensor.Tensor { return x.Round() },
}) && unary(14, x1{
	"HardSwish": (*tensor.Tensor).Hardswish,
}) && unary(18, x1{
	"Mish": (*tensor.Tensor).Mish, "BitwiseNot": (*tensor.Tensor).BitNot,
})

func identity(x *tensor.Tensor) *tensor.Tensor { return x }

// relu is max(x, 0), also of integers.
func relu(x *tensor.Tensor) *tensor.Tensor {
	if !x.DType().IsFloat() {
		return x.Clamp(0, nil)
	}
	return x.ReLU()
}

var _ = binary(x2{
	"Add": (*tensor.Tensor).Add, "Sub": (*tensor.Tensor).Sub, "Mul": (*tensor.Tensor).Mul, "Div": divide, "Pow": power,
	"And": (*tensor.Tensor).And, "Or": (*tensor.Tensor).Or, "Xor": (*tensor.Tensor).Xor,
	"Equal": (*tensor.Tensor).Eq, "Less": (*tensor.Tensor).Lt, "Greater": (*tensor.Tensor).Gt,
	"LessOrEqual": (*tensor.Tensor).Le, "GreaterOrEqual": (*tensor.Tensor).Ge,
	"BitwiseAnd": (*tensor.Tensor).BitAnd, "BitwiseOr": (*tensor.Tensor).BitOr, "BitwiseXor": (*tensor.Tensor).BitXor,
}) && variadic(x2{
	"Max": (*tensor.Tensor).Maximum, "Min": (*tensor.Tensor).Minimum, "Sum": (*tensor.Tensor).Add,
})

// divide is x/y, truncated towards zero for integers.
func divide(x, y *tensor.Tensor) *tensor.Tensor {
	if x.DType().IsInt() && y.DType().IsInt() {
		return x.Sub(x.FMod(y)).FloorDiv(y)
	}
	return x.Div(y)
}

// power is x to the y, of the type of x.
func power(x, y *tensor.Tensor) *tensor.Tensor {
	if y.DType() == x.DType() {
		return x.Pow(y)
	}
	if x.DType().IsFloat() {
		return x.Pow(y.Cast(x.DType()))
	}
	return x.Cast(dtype.Float64).Pow(y.Cast(dtype.Float64)).Cast(x.DType())
}

var (
	_ = simple("Mean", 1, func(c *call) *tensor.Tensor {
		sum := c.x(0)
		for i := 1; i < len(c.in); i++ {
			sum = sum.Add(c.x(i))
		}
		return sum.DivScalar(float64(len(c.in)))
	})
	_ = simple("Mod", 10, func(c *call) *tensor.Tensor {
		if c.integer("fmod", 0) == 1 {
			return c.x(0).FMod(c.x(1))
		}
		return c.x(0).Remainder(c.x(1))
	})
	_ = simple("BitShift", 11, func(c *call) *tensor.Tensor {
		if c.text("direction", "") == "RIGHT" {
			return c.x(0).ShiftRight(c.x(1))
		}
		return c.x(0).ShiftLeft(c.x(1))
	})
	_ = simple("Where", 9, func(c *call) *tensor.Tensor { return tensor.Where(c.x(0), c.x(1), c.x(2)) })
	_ = simple("PRelu", 1, func(c *call) *tensor.Tensor {
		x := c.x(0)
		return tensor.Where(x.LtScalar(0), x.Mul(c.x(1)), x)
	})
	_ = simple("LeakyRelu", 1, func(c *call) *tensor.Tensor { return c.x(0).LeakyReLU(c.number("alpha", 0.01)) })
	_ = simple("Elu", 1, func(c *call) *tensor.Tensor { return c.x(0).ELU(c.number("alpha", 1), 1) })
	_ = simple("Selu", 1, func(c *call) *tensor.Tensor {
		return c.x(0).ELU(c.number("alpha", 1.67326319217681884765625), c.number("gamma", 1.05070102214813232421875))
	})
	_ = simple("Celu", 12, func(c *call) *tensor.Tensor { return c.x(0).CELU(c.number("alpha", 1)) })
	_ = simple("ThresholdedRelu", 10, func(c *call) *tensor.Tensor {
		return c.x(0).Threshold(c.number("alpha", 1), 0)
	})
	_ = simple("HardSigmoid", 1, func(c *call) *tensor.Tensor {
		return c.x(0).MulScalar(c.number("alpha", 0.2)).AddScalar(c.number("beta", 0.5)).Clamp(0, 1)
	})
	_ = simple("Swish", 24, func(c *call) *tensor.Tensor {
		x, alpha := c.x(0), c.number("alpha", 1)
		if alpha == 1 {
			return x.SiLU()
		}
		return x.Mul(x.MulScalar(alpha).Sigmoid())
	})
	_ = simple("Shrink", 9, func(c *call) *tensor.Tensor {
		x, lambda, bias := c.x(0), c.number("lambd", 0.5), c.number("bias", 0)
		zero := x.MulScalar(0)
		return tensor.Where(x.LtScalar(-lambda), x.AddScalar(bias), tensor.Where(x.GtScalar(lambda), x.SubScalar(bias), zero)).Cast(x.DType())
	})
	_ = simple("Gelu", 20, func(c *call) *tensor.Tensor {
		if c.text("approximate", "none") == "tanh" {
			return c.x(0).GELUTanh()
		}
		return c.x(0).GELU()
	})
	_ = simple("IsInf", 10, func(c *call) *tensor.Tensor {
		x := c.x(0)
		switch low, high := c.integer("detect_negative", 1) == 1, c.integer("detect_positive", 1) == 1; {
		case low && high:
			return x.IsInf()
		case low:
			return x.IsNegInf()
		case high:
			return x.IsPosInf()
		}
		return x.IsInf().And(x.IsNaN())
	})
	_ = simple("Clip", 1, clip)
	_ = simple("Cast", 1, func(c *call) *tensor.Tensor { return c.cast(c.x(0), c.typ("to", dtype.Float32)) })
	_ = simple("CastLike", 15, func(c *call) *tensor.Tensor { return c.cast(c.x(0), c.x(1).DType()) })
	_ = add(rule{op: "Dropout", since: 1, run: func(c *call) []*tensor.Tensor {
		if c.has(2) && c.scalar(2) != 0 {
			c.fail(views.ErrShape, "it drops elements, as in training; export the model in evaluation mode")
		}
		x := c.x(0)
		if !c.outputs(1) {
			return one(x)
		}
		return []*tensor.Tensor{x, c.elements(tensor.Full(dtype.Bool, true, x.Shape()...))}
	}})
)

// clip limits elements to bounds, which are attributes before opset 11.
func clip(c *call) *tensor.Tensor {
	x := c.x(0)
	if c.opset < 11 {
		return x.Clamp(c.number("min", -math.MaxFloat32), c.number("max", math.MaxFloat32))
	}
	if x.DType().IsFloat() && c.isConstant(1) && c.isConstant(2) && (c.has(1) || c.has(2)) {
		var low, high any
		if c.has(1) {
			low = c.scalar(1)
		}
		if c.has(2) {
			high = c.scalar(2)
		}
		return x.Clamp(low, high)
	}
	if c.has(1) {
		x = x.Maximum(c.x(1))
	}
	if c.has(2) {
		x = x.Minimum(c.x(2))
	}
	return x
}

// typ returns the type that an attribute names.
func (c *call) typ(name string, otherwise dtype.Type) dtype.Type {
	n := c.integer(name, 0)
	if n == 0 {
		return otherwise
	}
	t := elementType(n)
	if !t.Valid() {
		c.fail(dtype.ErrType, "elements of type %d are not computed", n)
	}
	return t
}

// cast converts x; floats become integers by truncation.
func (c *call) cast(x *tensor.Tensor, t dtype.Type) *tensor.Tensor {
	if t == dtype.Bool && x.DType() != dtype.Bool {
		return x.NeScalar(0)
	}
	return x.Cast(t)
}
