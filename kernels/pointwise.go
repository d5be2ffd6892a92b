package kernels

import "math"

// Functions of floats, elementwise.
var (
	Exp2  = unaryKernel("exp2", unary(math.Exp2))
	Expm1 = unaryKernel("expm1", unary(math.Expm1)) // eˣ − 1
	Log1p = unaryKernel("log1p", unary(math.Log1p)) // ln(1 + x)
	Log2  = unaryKernel("log2", unary(math.Log2))
	Log10 = unaryKernel("log10", unary(math.Log10))

	Sin   = unaryKernel("sin", unary(math.Sin))
	Cos   = unaryKernel("cos", unary(math.Cos))
	Tan   = unaryKernel("tan", unary(math.Tan))
	Asin  = unaryKernel("asin", unary(math.Asin))
	Acos  = unaryKernel("acos", unary(func(x float64) float64 { return math.Atan2(math.Sqrt((1-x)*(1+x)), x) }))
	Atan  = unaryKernel("atan", unary(math.Atan))
	Sinh  = unaryKernel("sinh", unary(sinh))
	Cosh  = unaryKernel("cosh", unary(cosh))
	Asinh = unaryKernel("asinh", unary(math.Asinh))
	Acosh = unaryKernel("acosh", unary(math.Acosh))
	Atanh = unaryKernel("atanh", unary(math.Atanh))

	Erf  = unaryKernel("erf", unary(math.Erf))
	Erfc = unaryKernel("erfc", unary(math.Erfc))

	Floor = unaryKernel("floor", unary(math.Floor))
	Ceil  = unaryKernel("ceil", unary(math.Ceil))
	Trunc = unaryKernel("trunc", unary(math.Trunc))
	Round = unaryKernel("round", unary(math.RoundToEven))

	Atan2    = binaryKernel("atan2", binary(math.Atan2)) // the angle of the point (y, x), given as y and x
	Hypot    = binaryKernel("hypot", binary(math.Hypot))
	CopySign = binaryKernel("copy sign", binary(math.Copysign)) // |x| with the sign of y
	// LogAddExp is z = ln(eˣ + eʸ).
	LogAddExp = binaryKernel("log add exp", binary(logAddExp))
)

// sinh is math.Sinh, which overflows too early.
func sinh(x float64) float64 {
	if math.Abs(x) < 22 {
		return math.Sinh(x)
	}
	half := math.Exp(math.Abs(x) / 2)
	return math.Copysign(0.5*half*half, x)
}

func cosh(x float64) float64 {
	half := math.Exp(math.Abs(x) / 2)
	return 0.5*half*half + 0.5/half/half
}

func logAddExp(x, y float64) float64 {
	if x == y {
		return x + math.Ln2
	}
	return max(x, y) + math.Log1p(math.Exp(-math.Abs(x-y)))
}
