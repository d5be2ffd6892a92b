package nn

import "github.com/h5dnn/h5dnn/tensor"

// AdadeltaOptions are the settings of an Adadelta.
type AdadeltaOptions struct {
	LearningRate float64 `json:"lr"`           // 1 if 0
	Rho          float64 `json:"rho"`          // factor of the running means; 0.9 if 0
	Eps          float64 `json:"eps"`          // 1e-6 if 0
	WeightDecay  float64 `json:"weight_decay"` // added to the gradient, times the parameter

	Groups  []ParamGroup `json:"groups,omitempty"`   // parameters with settings of their own
	NoDecay Names        `json:"no_decay,omitempty"` // parameters without weight decay: names or patterns such as *.bias
}

// Adadelta multiplies gradients by the root mean square of past updates over the root mean square of past
// gradients (Zeiler, arXiv:1212.5701).
type Adadelta struct {
	AdadeltaOptions
	firstOrder
}

var adadeltaDefaults = AdadeltaOptions{LearningRate: 1, Rho: 0.9, Eps: 1e-6}

// NewAdadelta returns an Adadelta. Zero options stand for their defaults.
func NewAdadelta(o AdadeltaOptions) *Adadelta { return newAdadelta(withDefaults(o, adadeltaDefaults)) }

func newAdadelta(options AdadeltaOptions) *Adadelta {
	checkRange("adadelta", "rho", options.Rho, 0, 1)
	checkRange("adadelta", "eps", options.Eps, 0, infinity)
	o := &Adadelta{AdadeltaOptions: options}
	o.setup("adadelta", &o.LearningRate, &o.WeightDecay, o.Groups, o.NoDecay, "square_avg", "acc_delta")
	o.update = func(_ int, rate, decay float64) tensor.UpdateOptions {
		return tensor.AdadeltaOptions{Rate: rate, Rho: o.Rho, Eps: o.Eps, Decay: decay}
	}
	return o
}

// Config returns the settings of o.
func (o *Adadelta) Config() any { return o.withGroups(o.AdadeltaOptions, o.LearningRate) }

var _ = RegisterOptimizer("adadelta", newAdadelta, adadeltaDefaults)
