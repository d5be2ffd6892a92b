package nn

import "github.com/h5dnn/h5dnn/tensor"

// GELUOptions are the settings of a GELU.
type GELUOptions struct {
	Approximate string `json:"approximate,omitempty"` // none (or empty) or tanh
}

// GELU is x·Φ(x) (Hendrycks and Gimpel, arXiv:1606.08415).
type GELU struct{ GELUOptions }

// NewGELU returns a GELU.
func NewGELU(o GELUOptions) GELU {
	if o.Approximate != "" && o.Approximate != "none" && o.Approximate != "tanh" {
		tensor.Fail("gelu", ErrConfig, "approximate %q; want none or tanh", o.Approximate)
	}
	return GELU{o}
}

// Forward applies the activation to x.
func (g GELU) Forward(x *tensor.Tensor) *tensor.Tensor {
	if g.Approximate == "tanh" {
		return x.GELUTanh()
	}
	return x.GELU()
}

// Activation returns the activation for an ActivatedLayer.
func (g GELU) Activation() tensor.Activation {
	if g.Approximate == "tanh" {
		return tensor.GELUTanhActivation
	}
	return tensor.GELUActivation
}

var _ = RegisterLayer("gelu", NewGELU, GELUOptions{})
