package kernels

import "math"

// RMSPropOptions are the options of RMSProp.
type RMSPropOptions struct {
	Rate, Alpha, Eps, Decay, Momentum float64
	Centered                          bool
}

// RMSProp updates parameters p by their gradients g (Hinton, Neural Networks for Machine Learning, lecture 6e;
// centered: Graves, arXiv:1308.0850):
//
//	g ← g + Decay·p
//	v ← Alpha·v + (1 − Alpha)·g²
//	a ← Alpha·a + (1 − Alpha)·g, or 0 unless Centered
//	b ← Momentum·b + g/(√(v − a²) + Eps)
//	p ← p − Rate·b
//
// Its outputs are p and v of each parameter, if Centered a, and with Momentum b; update.go describes its inputs.
var RMSProp = defineUpdate[RMSPropOptions]("rmsprop")

func (s RMSPropOptions) rule() (rule, error) {
	r := rule{line: "rmsprop", settings: settings{s.Alpha, s.Eps, s.Decay, s.Momentum}, hyper: changing{s.Rate}}
	if s.Centered {
		r.line += "_centered"
	}
	if s.Momentum != 0 {
		r.line += "_momentum"
	}
	return r, nil
}

func (s RMSPropOptions) reference(x changing, _ float64) func(g float64, o []float64) {
	return func(g float64, o []float64) {
		g += s.Decay * o[0]
		o[1] = s.Alpha*o[1] + (1-s.Alpha)*g*g
		square := o[1]
		if s.Centered {
			o[2] = s.Alpha*o[2] + (1-s.Alpha)*g
			square -= o[2] * o[2]
		}
		d := g / (math.Sqrt(square) + s.Eps)
		if s.Momentum != 0 {
			b := &o[len(o)-1]
			*b = s.Momentum**b + d
			d = *b
		}
		o[0] -= x[0] * d
	}
}

// Hyperparameters returns the options that an update reads from its first step input: Rate.
func (s RMSPropOptions) Hyperparameters() []float64 { return hyperparameters(s) }
