package nn

import "github.com/h5dnn/h5dnn/tensor"

// AdamaxOptions are the settings of an Adamax.
type AdamaxOptions struct {
	LearningRate float64 `json:"lr"`           // 2e-3 if 0
	Beta1        float64 `json:"beta1"`        // 0.9 if 0
	Beta2        float64 `json:"beta2"`        // 0.999 if 0
	Eps          float64 `json:"eps"`          // 1e-8 if 0
	WeightDecay  float64 `json:"weight_decay"` // added to the gradient, times the parameter

	Groups  []ParamGroup `json:"groups,omitempty"`   // parameters with settings of their own
	NoDecay Names        `json:"no_decay,omitempty"` // parameters without weight decay: names or patterns such as *.bias
}

// Adamax is Adam with the infinity norm of the gradients in the place of their squares (Kingma and Ba, arXiv:1412.6980,
// section 7.1).
type Adamax struct {
	AdamaxOptions
	firstOrder
}

var adamaxDefaults = AdamaxOptions{LearningRate: 2e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}

// NewAdamax returns an Adamax. Zero options stand for their defaults.
func NewAdamax(o AdamaxOptions) *Adamax { return newAdamax(withDefaults(o, adamaxDefaults)) }

func newAdamax(options AdamaxOptions) *Adamax {
	checkBetas("adamax", options.Beta1, options.Beta2, options.Eps)
	o := &Adamax{AdamaxOptions: options}
	o.setup("adamax", &o.LearningRate, &o.WeightDecay, o.Groups, o.NoDecay, "first_moment", "infinity_norm")
	o.update = func(step int, rate, decay float64) tensor.UpdateOptions {
		return tensor.AdamaxOptions{Rate: rate, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, Decay: decay, Step: step}
	}
	return o
}

// Config returns the settings of o.
func (o *Adamax) Config() any { return o.withGroups(o.AdamaxOptions, o.LearningRate) }

var _ = RegisterOptimizer("adamax", newAdamax, adamaxDefaults)
