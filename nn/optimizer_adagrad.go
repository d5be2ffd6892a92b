package nn

import "github.com/h5dnn/h5dnn/tensor"

// AdagradOptions are the settings of an Adagrad.
type AdagradOptions struct {
	LearningRate float64 `json:"lr"`                        // 0.01 if 0
	LRDecay      float64 `json:"lr_decay"`                  // the rate at step t is divided by 1 + (t − 1)·lr_decay
	WeightDecay  float64 `json:"weight_decay"`              // added to the gradient, times the parameter
	Initial      float64 `json:"initial_accumulator_value"` // of the sum of squares
	Eps          float64 `json:"eps"`                       // 1e-10 if 0

	Groups  []ParamGroup `json:"groups,omitempty"`   // parameters with settings of their own
	NoDecay Names        `json:"no_decay,omitempty"` // parameters without weight decay: names or patterns such as *.bias
}

// Adagrad divides gradients by the root of the sum of their squares (Duchi, Hazan and Singer, JMLR 12, 2011).
type Adagrad struct {
	AdagradOptions
	firstOrder
}

var adagradDefaults = AdagradOptions{LearningRate: 0.01, Eps: 1e-10}

// NewAdagrad returns an Adagrad. Zero options stand for their defaults.
func NewAdagrad(o AdagradOptions) *Adagrad { return newAdagrad(withDefaults(o, adagradDefaults)) }

func newAdagrad(options AdagradOptions) *Adagrad {
	checkRange("adagrad", "lr_decay", options.LRDecay, 0, infinity)
	checkRange("adagrad", "initial_accumulator_value", options.Initial, 0, infinity)
	checkRange("adagrad", "eps", options.Eps, 0, infinity)
	o := &Adagrad{AdagradOptions: options}
	o.initial = o.Initial
	o.setup("adagrad", &o.LearningRate, &o.WeightDecay, o.Groups, o.NoDecay, "sum")
	o.update = func(step int, rate, decay float64) tensor.UpdateOptions {
		return tensor.AdagradOptions{Rate: rate, RateDecay: o.LRDecay, Eps: o.Eps, Decay: decay, Step: step}
	}
	return o
}

// Config returns the settings of o.
func (o *Adagrad) Config() any { return o.withGroups(o.AdagradOptions, o.LearningRate) }

var _ = RegisterOptimizer("adagrad", newAdagrad, adagradDefaults)
