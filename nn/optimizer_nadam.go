package nn

import "github.com/h5dnn/h5dnn/tensor"

// NAdamOptions are the settings of an NAdam.
type NAdamOptions struct {
	LearningRate  float64 `json:"lr"`                               // 2e-3 if 0
	Beta1         float64 `json:"beta1"`                            // 0.9 if 0
	Beta2         float64 `json:"beta2"`                            // 0.999 if 0
	Eps           float64 `json:"eps"`                              // 1e-8 if 0
	WeightDecay   float64 `json:"weight_decay"`                     // added to the gradient, times the parameter
	MomentumDecay float64 `json:"momentum_decay"`                   // 4e-3 if 0
	Decoupled     bool    `json:"decoupled_weight_decay,omitempty"` // subtract the decay from the parameter, times the learning rate

	Groups  []ParamGroup `json:"groups,omitempty"`   // parameters with settings of their own
	NoDecay Names        `json:"no_decay,omitempty"` // parameters without weight decay: names or patterns such as *.bias
}

// NAdam is Adam with Nesterov's momentum (Dozat, Incorporating Nesterov Momentum into Adam, 2016), which grows from step to
// step as PyTorch's does.
type NAdam struct {
	NAdamOptions
	firstOrder
	momenta float64 // their product in steps 1 to count
	count   int
}

var nAdamDefaults = NAdamOptions{LearningRate: 2e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, MomentumDecay: 4e-3}

// NewNAdam returns an NAdam. Zero options stand for their defaults.
func NewNAdam(o NAdamOptions) *NAdam { return newNAdam(withDefaults(o, nAdamDefaults)) }

func newNAdam(options NAdamOptions) *NAdam {
	checkBetas("nadam", options.Beta1, options.Beta2, options.Eps)
	checkRange("nadam", "momentum_decay", options.MomentumDecay, 0, infinity)
	o := &NAdam{NAdamOptions: options}
	o.setup("nadam", &o.LearningRate, &o.WeightDecay, o.Groups, o.NoDecay, "first_moment", "second_moment")
	o.update = func(step int, rate, decay float64) tensor.UpdateOptions {
		u := tensor.NAdamOptions{Rate: rate, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, Decay: decay, Decoupled: o.Decoupled, MomentumDecay: o.MomentumDecay, Step: step}
		u.Momenta = o.product(u)
		return u
	}
	return o
}

// product returns the product of the momenta up to the step of u.
func (o *NAdam) product(u tensor.NAdamOptions) float64 {
	if o.count == 0 || o.count > u.Step {
		o.count, o.momenta = 0, 1
	}
	for ; o.count < u.Step; o.count++ {
		o.momenta *= u.Momentum(o.count + 1)
	}
	return o.momenta
}

// Config returns the settings of o.
func (o *NAdam) Config() any { return o.withGroups(o.NAdamOptions, o.LearningRate) }

var _ = RegisterOptimizer("nadam", newNAdam, nAdamDefaults)
