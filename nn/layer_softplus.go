package nn

import "github.com/h5dnn/h5dnn/tensor"

// Activations without settings.
type (
	Softplus    struct{} // log(1 + exp(x))
	Softsign    struct{} // x/(1 + |x|)
	Exponential struct{} // exp(x)
)

// Forward applies the activation to x.
func (Softplus) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Softplus() }

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
