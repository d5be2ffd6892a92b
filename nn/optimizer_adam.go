package nn

import "github.com/h5dnn/h5dnn/tensor"

// AdamOptions are the settings of an Adam or AdamW.
type AdamOptions struct {
	LearningRate float64 `json:"lr"`                // 1e-3 if 0
	Beta1        float64 `json:"beta1"`             // 0.9 if 0
	Beta2        float64 `json:"beta2"`             // 0.999 if 0
	Eps          float64 `json:"eps"`               // 1e-8 if 0
	WeightDecay  float64 `json:"weight_decay"`      // times the parameter, added to the gradient, or for AdamW subtracted from the parameter, times the rate; 0.01 if 0 for AdamW
	AMSGrad      bool    `json:"amsgrad,omitempty"` // divide by the root of the largest running mean so far

	Groups  []ParamGroup `json:"groups,omitempty"`   // parameters with settings of their own
	NoDecay Names        `json:"no_decay,omitempty"` // parameters without weight decay: names or patterns such as *.bias
}

// Adam divides the running mean of the gradients by the root of the running mean
// of their squares (Kingma and Ba, arXiv:1412.6980). Weight decay is added to the
// gradient.
type Adam struct {
	AdamOptions
	firstOrder
}

// AdamW is Adam with weight decay applied to the parameter instead of the gradient
// (Loshchilov and Hutter, arXiv:1711.05101).
type AdamW struct{ Adam }

var (
	adamDefaults  = AdamOptions{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	adamWDefaults = AdamOptions{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.01}
)

// NewAdam returns an Adam. Zero options stand for their defaults; set the fields
// of the result for zeros.
func NewAdam(o AdamOptions) *Adam { return newAdam(withDefaults(o, adamDefaults)) }

// NewAdamW returns an AdamW, as NewAdam does.
func NewAdamW(o AdamOptions) *AdamW { return newAdamW(withDefaults(o, adamWDefaults)) }

func newAdam(o AdamOptions) *Adam {
	a := &Adam{AdamOptions: o}
	a.setupAdam("adam", false)
	return a
}

func newAdamW(o AdamOptions) *AdamW {
	a := &AdamW{Adam{AdamOptions: o}}
	a.setupAdam("adamw", true)
	return a
}

func (o *Adam) setupAdam(name string, decoupled bool) {
	checkBetas(name, o.Beta1, o.Beta2, o.Eps)
	buffers := []string{"first_moment", "second_moment"}
	if o.AMSGrad {
		buffers = append(buffers, "max_second_moment")
	}
	o.setup(name, &o.LearningRate, &o.WeightDecay, o.Groups, o.NoDecay, buffers...)
	o.update = func(step int, rate, decay float64) tensor.UpdateOptions {
		return tensor.AdamOptions{Rate: rate, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, Decay: decay, Decoupled: decoupled, Step: step, AMSGrad: o.AMSGrad}
	}
}

// Config returns the settings of o.
func (o *Adam) Config() any { return o.withGroups(o.AdamOptions, o.LearningRate) }

var (
	_ = RegisterOptimizer("adam", newAdam, adamDefaults)
	_ = RegisterOptimizer("adamw", newAdamW, adamWDefaults)
)
