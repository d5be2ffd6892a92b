package nn

import "github.com/h5dnn/h5dnn/tensor"

// ELUOptions are the settings of an ELU.
type ELUOptions struct {
	Alpha float64 `json:"alpha"` // 1 if 0
}

// ELU is x where x is positive and α·(exp(x) − 1) elsewhere (Clevert et al.,
// arXiv:1511.07289).
type ELU struct{ ELUOptions }

// SELU is λ·ELU(x) with constants for which activations keep their mean and variance
// (Klambauer et al., arXiv:1706.02515).
type SELU struct{}

var eluDefaults = ELUOptions{Alpha: 1}

// NewELU returns an ELU.
func NewELU(o ELUOptions) ELU { return ELU{withDefaults(o, eluDefaults)} }

// Forward applies the activation to x.
func (e ELU) Forward(x *tensor.Tensor) *tensor.Tensor {
	negative := x.Neg().ReLU().Neg() // min(x, 0)
	return x.ReLU().Add(negative.Exp().AddScalar(-1).MulScalar(e.Alpha))
}

// Forward applies the activation to x.
func (SELU) Forward(x *tensor.Tensor) *tensor.Tensor {
	const alpha, lambda = 1.6732632423543772, 1.0507009873554805
	return ELU{ELUOptions{alpha}}.Forward(x).MulScalar(lambda)
}

// Config returns the settings of e.
func (e ELU) Config() any { return e.ELUOptions }

// Config returns no settings.
func (SELU) Config() any { return struct{}{} }

var (
	_ = RegisterLayer("elu", func(o ELUOptions) ELU { return ELU{o} }, eluDefaults)
	_ = RegisterLayer("selu", func(struct{}) SELU { return SELU{} }, struct{}{})
)
