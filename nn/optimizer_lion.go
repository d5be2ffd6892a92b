package nn

import "github.com/h5dnn/h5dnn/tensor"

// LionOptions are the settings of a Lion.
type LionOptions struct {
	LearningRate float64 `json:"lr"`           // 1e-4 if 0
	Beta1        float64 `json:"beta1"`        // 0.9 if 0
	Beta2        float64 `json:"beta2"`        // 0.99 if 0
	WeightDecay  float64 `json:"weight_decay"` // subtracted from the parameter, times the learning rate and the parameter

	Groups  []ParamGroup `json:"groups,omitempty"`   // parameters with settings of their own
	NoDecay Names        `json:"no_decay,omitempty"` // parameters without weight decay: names or patterns such as *.bias
}

// Lion steps by the sign of a mean of the gradients (Chen et al., arXiv:2302.06675, program 2).
type Lion struct {
	LionOptions
	firstOrder
}

var lionDefaults = LionOptions{LearningRate: 1e-4, Beta1: 0.9, Beta2: 0.99}

// NewLion returns a Lion. Zero options stand for their defaults.
func NewLion(o LionOptions) *Lion { return newLion(withDefaults(o, lionDefaults)) }

func newLion(options LionOptions) *Lion {
	checkRange("lion", "beta1", options.Beta1, 0, 1)
	checkRange("lion", "beta2", options.Beta2, 0, 1)
	o := &Lion{LionOptions: options}
	o.setup("lion", &o.LearningRate, &o.WeightDecay, o.Groups, o.NoDecay, "momentum")
	o.update = func(_ int, rate, decay float64) tensor.UpdateOptions {
		return tensor.LionOptions{Rate: rate, Beta1: o.Beta1, Beta2: o.Beta2, Decay: decay}
	}
	return o
}

// Config returns the settings of o.
func (o *Lion) Config() any { return o.withGroups(o.LionOptions, o.LearningRate) }

var _ = RegisterOptimizer("lion", newLion, lionDefaults)
