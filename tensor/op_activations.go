package tensor

import "github.com/h5dnn/h5dnn/tensor/internal/samples"

// LogSigmoid returns ln(1/(1 + e⁻ˣ)), elementwise.
func (x *Tensor) LogSigmoid() *Tensor { return x.Neg().Softplus().Neg() }

// SoftplusBeta returns ln(1 + exp(beta·x))/beta, elementwise, and x itself where beta·x > threshold.
func (x *Tensor) SoftplusBeta(beta, threshold float64) *Tensor {
	scaled := x.MulScalar(beta)
	return Where(scaled.GtScalar(threshold), x, scaled.Softplus().DivScalar(beta))
}

// Softsign returns x/(1 + |x|), elementwise.
func (x *Tensor) Softsign() *Tensor { return x.Div(x.Abs().AddScalar(1)) }

// Hardsigmoid returns x/6 + 1/2 limited to the range from 0 to 1, elementwise.
func (x *Tensor) Hardsigmoid() *Tensor { return x.AddScalar(3).Hardtanh(0, 6).DivScalar(6) }

// Hardswish returns x·Hardsigmoid(x), elementwise (Howard et al., arXiv:1905.02244).
func (x *Tensor) Hardswish() *Tensor { return x.Mul(x.Hardsigmoid()) }

// ReLU6 returns x limited to the range from 0 to 6, elementwise.
func (x *Tensor) ReLU6() *Tensor { return x.Hardtanh(0, 6) }

// LeakyReLU returns x where x > 0 and slope·x elsewhere.
func (x *Tensor) LeakyReLU(slope float64) *Tensor { return Where(x.GtScalar(0), x, x.MulScalar(slope)) }

// PReLU returns x where x > 0 and weight·x elsewhere, with one weight for all, or one for each index along axis 1.
func (x *Tensor) PReLU(weight *Tensor) *Tensor {
	if weight.Len() > 1 {
		if weight.Rank() != 1 || x.Rank() < 2 || x.Shape()[1] != weight.Len() {
			fail("prelu", ErrShape, "weights %v for %v; want one, or one for each index along axis 1", weight.Shape(), x.Shape())
		}
		shape := append(make([]int, 0, x.Rank()-1), weight.Len())
		for range x.Rank() - 2 {
			shape = append(shape, 1)
		}
		weight = weight.Reshape(shape...)
	}
	return Where(x.GtScalar(0), x, x.Mul(weight))
}

// Mish returns x·tanh(ln(1 + eˣ)), elementwise (Misra, arXiv:1908.08681).
func (x *Tensor) Mish() *Tensor { return x.Mul(x.Softplus().Tanh()) }

// SELU is ELU with the constants that keep mean 0 and variance 1 (Klambauer et al., arXiv:1706.02515).
func (x *Tensor) SELU() *Tensor { return x.ELU(1.6732632423543772848, 1.0507009873554804934) }

// CELU returns x where x > 0 and alpha·(exp(x/alpha) − 1) elsewhere (Barron, arXiv:1704.07483).
func (x *Tensor) CELU(alpha float64) *Tensor { return x.DivScalar(alpha).ELU(1, alpha) }

// Threshold returns x where x > threshold and value elsewhere.
func (x *Tensor) Threshold(threshold, value float64) *Tensor {
	return Where(x.GtScalar(threshold), x, x.constant(value))
}

var (
	_ = registerUnary("log sigmoid", (*Tensor).LogSigmoid, samples.Normal)
	_ = registerUnary("softplus beta", func(x *Tensor) *Tensor { return x.SoftplusBeta(2, 1.5) }, samples.Normal)
	_ = registerUnary("softsign", (*Tensor).Softsign, samples.Normal)
	_ = registerUnary("hardsigmoid", (*Tensor).Hardsigmoid, samples.Normal)
	_ = registerUnary("hardswish", (*Tensor).Hardswish, samples.Normal)
	_ = registerUnary("relu6", (*Tensor).ReLU6, samples.Normal)
	_ = registerUnary("leaky relu", func(x *Tensor) *Tensor { return x.LeakyReLU(0.25) }, samples.Normal)
	_ = samples.Register("prelu", func(in ...*Tensor) *Tensor { return in[0].PReLU(in[1]) }, samples.In(3, 4, 2).Rows(), samples.In(4))
	_ = samples.Register("prelu", func(in ...*Tensor) *Tensor { return in[0].PReLU(in[1]) }, samples.In(3, 4).Rows(), samples.In(1))
	_ = registerUnary("mish", (*Tensor).Mish, samples.Normal)
	_ = registerUnary("selu", (*Tensor).SELU, samples.Normal)
	_ = registerUnary("celu", func(x *Tensor) *Tensor { return x.CELU(1.5) }, samples.Normal)
	_ = registerUnary("threshold", func(x *Tensor) *Tensor { return x.Threshold(0.5, -1) }, samples.Normal)
)
