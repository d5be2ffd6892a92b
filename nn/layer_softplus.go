package nn

import "github.com/h5dnn/h5dnn/tensor"

// Activations without settings that are computed from others.
type (
	Softplus    struct{} // log(1 + exp(x))
	Softsign    struct{} // x/(1 + |x|)
	Exponential struct{} // exp(x)
)

// Forward applies the activation to x.
func (Softplus) Forward(x *tensor.Tensor) *tensor.Tensor {
	size := tensor.Where(isPositive(x), x, x.Neg()) // |x|, whose gradient at 0 is not 0
	return x.ReLU().Add(log1p(size.Neg().Exp().ToFloat32()).Cast(x.Type))
}

// log1p returns log(1 + u) for u from 0 to 1, to the last digits: the rounding error of
// w = 1 + u is in both factors of u·log(w)/(w − 1) (Goldberg, doi:10.1145/103162.103163,
// theorem 4).
func log1p(u *tensor.Tensor) *tensor.Tensor {
	w := u.AddScalar(1)
	log, v, d := w.Log(), u.Detach(), w.Detach().AddScalar(-1)
	y := tensor.Where(d.Equal(d.Neg()), v, log.Detach().Mul(v).Div(d))
	return withGradientOf(y, log)
}

// Forward applies the activation to x.
func (Softsign) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Div(x.Abs().AddScalar(1)) }

// Forward applies the activation to x.
func (Exponential) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Exp() }

// Config returns no settings.
func (Softplus) Config() any    { return struct{}{} }
func (Softsign) Config() any    { return struct{}{} }
func (Exponential) Config() any { return struct{}{} }

var (
	_ = RegisterLayer("softplus", func(struct{}) Softplus { return Softplus{} }, struct{}{})
	_ = RegisterLayer("softsign", func(struct{}) Softsign { return Softsign{} }, struct{}{})
	_ = RegisterLayer("exponential", func(struct{}) Exponential { return Exponential{} }, struct{}{})
)
