package nn

import "github.com/h5dnn/h5dnn/tensor"

// RMSpropOptions are the settings of an RMSprop.
type RMSpropOptions struct {
	LearningRate float64 `json:"lr"`           // 0.01 if 0
	Alpha        float64 `json:"alpha"`        // factor of the running means; 0.99 if 0
	Eps          float64 `json:"eps"`          // 1e-8 if 0
	WeightDecay  float64 `json:"weight_decay"` // added to the gradient, times the parameter
	Momentum     float64 `json:"momentum"`     // share of the last update that is added to the next
	Centered     bool    `json:"centered"`     // divide by the standard deviation

	Groups  []ParamGroup `json:"groups,omitempty"`   // parameters with settings of their own
	NoDecay Names        `json:"no_decay,omitempty"` // parameters without weight decay: names or patterns such as *.bias
}

// RMSprop divides gradients by the root of the running mean of their squares (Hinton, Neural Networks for Machine Learning,
// lecture 6e), or if Centered by the standard deviation (Graves, arXiv:1308.0850).
type RMSprop struct {
	RMSpropOptions
	firstOrder
}

var rmsPropDefaults = RMSpropOptions{LearningRate: 0.01, Alpha: 0.99, Eps: 1e-8}

// NewRMSprop returns an RMSprop. Zero options stand for their defaults.
func NewRMSprop(o RMSpropOptions) *RMSprop { return newRMSprop(withDefaults(o, rmsPropDefaults)) }

func newRMSprop(options RMSpropOptions) *RMSprop {
	checkRange("rmsprop", "alpha", options.Alpha, 0, 1)
	checkRange("rmsprop", "eps", options.Eps, 0, infinity)
	checkRange("rmsprop", "momentum", options.Momentum, 0, infinity)
	o := &RMSprop{RMSpropOptions: options}
	buffers := []string{"square_avg"}
	if o.Centered {
		buffers = append(buffers, "grad_avg")
	}
	if o.Momentum != 0 {
		buffers = append(buffers, "momentum")
	}
	o.setup("rmsprop", &o.LearningRate, &o.WeightDecay, o.Groups, o.NoDecay, buffers...)
	o.update = func(_ int, rate, decay float64) tensor.UpdateOptions {
		return tensor.RMSPropOptions{Rate: rate, Alpha: o.Alpha, Eps: o.Eps, Decay: decay, Momentum: o.Momentum, Centered: o.Centered}
	}
	return o
}

// Config returns the settings of o.
func (o *RMSprop) Config() any { return o.withGroups(o.RMSpropOptions, o.LearningRate) }

var _ = RegisterOptimizer("rmsprop", newRMSprop, rmsPropDefaults)
