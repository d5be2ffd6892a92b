package kernels

import "math"

// AdagradOptions are the options of Adagrad.
type AdagradOptions struct {
	Rate, RateDecay, Eps, Decay float64
	Step                        int // counts from 1
}

// Adagrad updates parameters p by their gradients g (Duchi, Hazan and Singer, JMLR 12, 2011), at step t:
//
//	g ← g + Decay·p
//	s ← s + g²
//	p ← p − Rate/(1 + (t − 1)·RateDecay)·g/(√s + Eps)
//
// Its outputs are p and s of each parameter; update.go describes its inputs.
var Adagrad = defineUpdate[AdagradOptions]("adagrad")

func (s AdagradOptions) rule() (rule, error) {
	if err := checkStep(s.Step); err != nil {
		return rule{}, err
	}
	return rule{line: "adagrad", settings: settings{s.Eps, s.Decay, s.RateDecay}, hyper: changing{s.Rate, float64(s.Step)}}, nil
}

func (s AdagradOptions) reference(x changing, skipped float64) func(g float64, o []float64) {
	rate := x[0] / (1 + (x[1]-1-skipped)*s.RateDecay)
	return func(g float64, o []float64) {
		g += s.Decay * o[0]
		o[1] += g * g
		o[0] -= rate * g / (math.Sqrt(o[1]) + s.Eps)
	}
}

// Hyperparameters returns the options that an update reads from its first step input: Rate and Step.
func (s AdagradOptions) Hyperparameters() []float64 { return hyperparameters(s) }
