package nn

import (
	"iter"

	"github.com/h5dnn/h5dnn/tensor"
)

// AdamOptions are the settings of an Adam or AdamW.
type AdamOptions struct {
	LearningRate float64 `json:"lr"`           // 1e-3 if 0
	Beta1        float64 `json:"beta1"`        // 0.9 if 0
	Beta2        float64 `json:"beta2"`        // 0.999 if 0
	Eps          float64 `json:"eps"`          // 1e-8 if 0
	WeightDecay  float64 `json:"weight_decay"` // 0.01 if 0 for AdamW

	Groups []ParamGroup `json:"groups,omitempty"` // parameters with settings of their own
}

// Adam divides the running mean of the gradients by the root of the running mean
// of their squares (Kingma and Ba, arXiv:1412.6980). Weight decay is added to the
// gradient.
type Adam struct {
	AdamOptions
	OptimizerState
	decoupled bool
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
	a := &Adam{}
	a.setup("adam", o)
	return a
}

func newAdamW(o AdamOptions) *AdamW {
	a := &AdamW{Adam{decoupled: true}}
	a.setup("adamw", o)
	return a
}

func (o *Adam) setup(name string, options AdamOptions) {
	checkRange(name, "lr", options.LearningRate, 0, infinity)
	checkRange(name, "beta1", options.Beta1, 0, 1)
	checkRange(name, "beta2", options.Beta2, 0, 1)
	checkRange(name, "eps", options.Eps, 0, infinity)
	checkRange(name, "weight_decay", options.WeightDecay, 0, infinity)
	o.AdamOptions = options
	o.Setup(name, options.LearningRate, options.Groups, "first_moment", "second_moment")
}

// Step updates every parameter that has a gradient in grads.
func (o *Adam) Step(params iter.Seq2[string, *Parameter], grads tensor.Grads) error {
	return o.Update(params, grads, func(g UpdateGroup) {
		h := o.hyperparameters()
		h.Step, h.Rate = max(1, o.steps), h.Rate*g.RateFactor // Args have the step too
		if g.WeightDecay != nil {
			h.Decay = *g.WeightDecay
		}
		tensor.UpdateAdam(g.Updates, h, g.Args)
	})
}

func (o *Adam) hyperparameters() tensor.AdamOptions {
	return tensor.AdamOptions{
		Rate: o.LearningRate, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps,
		Decay: o.WeightDecay, Decoupled: o.decoupled,
	}
}

// StepArgs appends the hyperparameters of the next step to dst.
func (o *Adam) StepArgs(dst []float64) []float64 {
	for _, factor := range o.RateFactors() {
		h := o.hyperparameters()
		h.Step, h.Rate = o.steps+1, h.Rate*factor
		dst = append(dst, h.Hyperparameters()...)
	}
	return dst
}

// Rate returns the learning rate.
func (o *Adam) Rate() float64 { return o.LearningRate }

// SetRate sets the learning rate.
func (o *Adam) SetRate(rate float64) { o.LearningRate = rate }

// Config returns the settings of o.
func (o *Adam) Config() any {
	options := o.AdamOptions
	options.Groups = o.groups.current(o.LearningRate)
	return options
}

var (
	_ = RegisterOptimizer("adam", newAdam, adamDefaults)
	_ = RegisterOptimizer("adamw", newAdamW, adamWDefaults)
)
