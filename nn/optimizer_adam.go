package nn

import (
	"iter"
	"math"

	"github.com/h5dnn/h5dnn/tensor"
)

// An AdamSet is the settings of an Adam.
type AdamSet struct {
	LearningRate float64 `json:"lr"`
	Beta1        float64 `json:"beta1"`
	Beta2        float64 `json:"beta2"`
	Eps          float64 `json:"eps"`
	WeightDecay  float64 `json:"weight_decay"`
}

// Adam moves parameters by the running mean of their gradients over the root of
// the running mean of their squares (Kingma and Ba, arXiv:1412.6980). Weight
// decay is part of the gradient.
type Adam struct {
	AdamSet
	Memory
	decoupled bool
}

// AdamW is Adam with weight decay apart from the gradient (Loshchilov and
// Hutter, arXiv:1711.05101).
type AdamW struct{ Adam }

var (
	adamDefaults  = AdamSet{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	adamWDefaults = AdamSet{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.01}
)

// NewAdam returns Adam with β 0.9 and 0.999.
func NewAdam(lr float64) *Adam {
	set := adamDefaults
	set.LearningRate = lr
	return NewAdamOf(set)
}

// NewAdamW returns AdamW with β 0.9 and 0.999 and weight decay 0.01.
func NewAdamW(lr float64) *AdamW {
	set := adamWDefaults
	set.LearningRate = lr
	return NewAdamWOf(set)
}

// NewAdamOf returns Adam as set says.
func NewAdamOf(set AdamSet) *Adam {
	a := adamOf("adam", set)
	return &a
}

// NewAdamWOf returns AdamW as set says.
func NewAdamWOf(set AdamSet) *AdamW {
	a := adamOf("adamw", set)
	a.decoupled = true
	return &AdamW{a}
}

func adamOf(name string, set AdamSet) Adam {
	within(name, "lr", set.LearningRate, 0, infinity)
	within(name, "beta1", set.Beta1, 0, 1)
	within(name, "beta2", set.Beta2, 0, 1)
	within(name, "eps", set.Eps, 0, infinity)
	within(name, "weight_decay", set.WeightDecay, 0, infinity)
	return Adam{AdamSet: set, Memory: Memory{kinds: []string{"first_moment", "second_moment"}}}
}

// Step updates every parameter that grads has a gradient for.
func (o *Adam) Step(params iter.Seq2[string, *Param], grads tensor.Grads) error {
	set := o.settings(o.count + 1)
	return o.step(params, grads, func(of []tensor.Update) { tensor.UpdateAdam(of, set, o.by) })
}

func (o *Adam) settings(step int) tensor.AdamOptions {
	return tensor.AdamOptions{
		Rate: o.LearningRate, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps,
		Decay: o.WeightDecay, Decoupled: o.decoupled, Step: step,
	}
}

// Advance counts a step and returns its dials.
func (o *Adam) Advance() [3]float64 {
	o.count++
	return o.settings(o.count).Dials()
}

// Rate returns the learning rate.
func (o *Adam) Rate() float64 { return o.LearningRate }

// SetRate sets the learning rate.
func (o *Adam) SetRate(rate float64) { o.LearningRate = rate }

// Config returns o's settings.
func (o *Adam) Config() any { return o.AdamSet }

var (
	_ = RegisterOptimizer("adam", NewAdamOf, adamDefaults)
	_ = RegisterOptimizer("adamw", NewAdamWOf, adamWDefaults)
)

var infinity = math.Inf(1)

// within fails unless low ≤ value < high.
func within(name, setting string, value, low, high float64) {
	if !(value >= low && value < high) {
		tensor.Fail(name, ErrConfig, "%s %v; want at least %v and less than %v", setting, value, low, high)
	}
}
