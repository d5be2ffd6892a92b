package nn

import "github.com/h5dnn/h5dnn/tensor"

// ELUOptions are the settings of an ELU and a CELU.
type ELUOptions struct {
	Alpha float64 `json:"alpha"` // 1 if 0
}

// ELU is x where x is positive and α·(exp(x) − 1) elsewhere (Clevert et al.,
// arXiv:1511.07289).
type ELU struct {
	ELUOptions
	made bool // by a constructor, so that a zero is a setting
}

// CELU is x where x is positive and α·(exp(x/α) − 1) elsewhere (Barron, arXiv:1704.07483).
type CELU struct {
	ELUOptions
	made bool
}

// SELU is λ·ELU(x) with constants for which activations keep their mean and variance
// (Klambauer et al., arXiv:1706.02515).
type SELU struct{}

var eluDefaults = ELUOptions{Alpha: 1}

// NewELU returns an ELU.
func NewELU(o ELUOptions) ELU { return ELU{withDefaults(o, eluDefaults), true} }

// NewCELU returns a CELU.
func NewCELU(o ELUOptions) CELU { return CELU{withDefaults(o, eluDefaults), true} }

// Forward applies the activation to x.
func (e CELU) Forward(x *tensor.Tensor) *tensor.Tensor { return x.CELU(e.options().Alpha) }

// options returns the settings.
func (e CELU) options() ELUOptions { return settingsOf(e.made, e.ELUOptions, eluDefaults) }

// Config returns the settings of e.
func (e CELU) Config() any { return e.options() }

// Forward applies the activation to x.
func (e ELU) Forward(x *tensor.Tensor) *tensor.Tensor { return x.ELU(e.options().Alpha, 1) }

// Forward applies the activation to x.
func (SELU) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.SELU()
}

// options returns the settings.
func (e ELU) options() ELUOptions { return settingsOf(e.made, e.ELUOptions, eluDefaults) }

// Config returns the settings of e.
func (e ELU) Config() any { return e.options() }

var (
	_ = RegisterLayer("elu", func(o ELUOptions) ELU { return ELU{o, true} }, eluDefaults)
	_ = RegisterLayer("celu", func(o ELUOptions) CELU { return CELU{o, true} }, eluDefaults)
	_ = registerPlain[SELU](&layers, "selu")
)
