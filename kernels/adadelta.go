package kernels

import "math"

// AdadeltaOptions are the options of Adadelta.
type AdadeltaOptions struct{ Rate, Rho, Eps, Decay float64 }

// Adadelta updates parameters p by their gradients g (Zeiler, arXiv:1212.5701):
//
//	g ← g + Decay·p
//	v ← Rho·v + (1 − Rho)·g²
//	d ← √(u + Eps)/√(v + Eps)·g
//	u ← Rho·u + (1 − Rho)·d²
//	p ← p − Rate·d
//
// Its outputs are p, v and u of each parameter; update.go describes its inputs.
var Adadelta = defineUpdate[AdadeltaOptions]("adadelta")

func (s AdadeltaOptions) rule() (rule, error) {
	return rule{line: "adadelta", settings: settings{s.Rho, s.Eps, s.Decay}, hyper: changing{s.Rate}}, nil
}

func (s AdadeltaOptions) reference(x changing, _ float64) func(g float64, o []float64) {
	return func(g float64, o []float64) {
		g += s.Decay * o[0]
		o[1] = s.Rho*o[1] + (1-s.Rho)*g*g
		d := math.Sqrt(o[2]+s.Eps) / math.Sqrt(o[1]+s.Eps) * g
		o[2] = s.Rho*o[2] + (1-s.Rho)*d*d
		o[0] -= x[0] * d
	}
}

// Hyperparameters returns the options that an update reads from its first step input: Rate.
func (s AdadeltaOptions) Hyperparameters() []float64 { return hyperparameters(s) }
