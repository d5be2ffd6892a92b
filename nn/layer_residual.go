package nn

import "github.com/h5dnn/h5dnn/tensor"

// ResidualOptions are the settings of a Residual.
type ResidualOptions struct {
	Body     Submodule `json:"body"`              // required
	Shortcut Submodule `json:"shortcut,omitzero"` // the identity if nil
}

// Residual is Body(x) + Shortcut(x) (He et al., arXiv:1512.03385).
type Residual struct{ ResidualOptions }

// NewResidual returns a residual block. Body is required.
func NewResidual(o ResidualOptions) *Residual {
	if o.Body.Module == nil {
		tensor.Fail("residual", ErrConfig, "no body")
	}
	return &Residual{o}
}

// Forward returns Body(x) + Shortcut(x).
func (r *Residual) Forward(x *tensor.Tensor) *tensor.Tensor {
	shortcut := x
	if r.Shortcut.Module != nil {
		shortcut = call("shortcut", r.Shortcut.Module, x)
	}
	return merge("residual", []*tensor.Tensor{call("body", r.Body.Module, x), shortcut}, (*tensor.Tensor).Add)
}

var _ = RegisterLayer("residual", NewResidual, ResidualOptions{})
