package nn

import (
	"iter"

	"github.com/h5dnn/h5dnn/tensor"
)

// A firstOrder is an optimizer by an update of package tensor. Optimizers embed it.
type firstOrder struct {
	OptimizerState
	rate, decay *float64 // of the settings
	// update returns the update at a step, which counts from 1, with a learning rate and a weight decay.
	update func(step int, rate, decay float64) tensor.UpdateOptions
}

// Step updates every parameter that has a gradient in grads.
func (o *firstOrder) Step(params iter.Seq2[string, *Parameter], grads tensor.Grads) error {
	return o.Update(params, grads, func(g UpdateGroup) {
		decay := *o.decay
		if g.WeightDecay != nil {
			decay = *g.WeightDecay
		}
		tensor.UpdateLeaves(g.Updates, o.update(max(1, o.steps), *o.rate*g.RateFactor, decay), g.Args) // Args have the step too
	})
}

// StepArgs appends the hyperparameters of the next step to dst.
func (o *firstOrder) StepArgs(dst []float64) []float64 {
	for _, factor := range o.RateFactors() {
		dst = append(dst, o.update(o.steps+1, *o.rate*factor, *o.decay).Hyperparameters()...)
	}
	return dst
}

// Rate returns the learning rate.
func (o *firstOrder) Rate() float64 { return *o.rate }

// SetRate sets the learning rate.
func (o *firstOrder) SetRate(rate float64) { *o.rate = rate }

// Divide makes steps update ranges of the parameters.
func (o *firstOrder) Divide(ranges map[string][2]int) { o.divide(ranges) }

// Elementwise returns true.
func (o *firstOrder) Elementwise() bool { return true }

// setup prepares the state of the named optimizer, whose settings rate and decay are, as Setup does.
func (o *firstOrder) setup(name string, rate, decay *float64, groups []ParamGroup, noDecay Names, buffers ...string) {
	checkRange(name, "lr", *rate, 0, infinity)
	checkRange(name, "weight_decay", *decay, 0, infinity)
	o.rate, o.decay = rate, decay
	o.Setup(name, *rate, groups, buffers...)
	o.ExcludeDecay(name, noDecay)
}

// checkBetas checks the factors of running means, and what is added to denominators.
func checkBetas(name string, beta1, beta2, eps float64) {
	checkRange(name, "beta1", beta1, 0, 1)
	checkRange(name, "beta2", beta2, 0, 1)
	checkRange(name, "eps", eps, 0, infinity)
}
