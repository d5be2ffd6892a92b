package kernels

import "math"

// AdamaxOptions are the options of Adamax.
type AdamaxOptions struct {
	Rate, Beta1, Beta2, Eps, Decay float64
	Step                           int // counts from 1
}

// Adamax updates parameters p by their gradients g (Kingma and Ba, arXiv:1412.6980, section 7.1), at step t:
//
//	g ← g + Decay·p
//	m ← Beta1·m + (1 − Beta1)·g
//	u ← max(Beta2·u, |g| + Eps)
//	p ← p − Rate/(1 − Beta1ᵗ)·m/u
//
// Its outputs are p, m and u of each parameter; update.go describes its inputs.
var Adamax = defineUpdate[AdamaxOptions]("adamax")

func (s AdamaxOptions) rule() (rule, error) {
	if err := checkStep(s.Step); err != nil {
		return rule{}, err
	}
	return rule{line: "adamax", settings: settings{s.Beta1, s.Beta2, s.Eps, s.Decay}, hyper: changing{s.Rate, math.Pow(s.Beta1, float64(s.Step))}}, nil
}

func (s AdamaxOptions) reference(x changing, skipped float64) func(g float64, o []float64) {
	rate := x[0] / (1 - without(x[1], s.Beta1, skipped))
	return func(g float64, o []float64) {
		g += s.Decay * o[0]
		o[1] = s.Beta1*o[1] + (1-s.Beta1)*g
		o[2] = max(s.Beta2*o[2], math.Abs(g)+s.Eps)
		o[0] -= rate * o[1] / o[2]
	}
}

// Hyperparameters returns the options that an update reads from its first step input: Rate and Beta1ᵗ.
func (s AdamaxOptions) Hyperparameters() []float64 { return hyperparameters(s) }
