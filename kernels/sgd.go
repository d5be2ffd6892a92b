package kernels

// SGDOptions are the options of SGD, as in PyTorch with a dampening of 0.
type SGDOptions struct {
	Rate, Momentum, Decay float64
	Nesterov              bool
}

// SGD updates parameters p by their gradients g: with d = g + Decay·p,
//
//	v ← Momentum·v + d
//	p ← p − Rate·v, or for Nesterov p − Rate·(d + Momentum·v)
//
// Its outputs are p and v, which starts at zero, of each parameter; without
// Momentum there is no v, and p ← p − Rate·d. update.go describes its inputs.
var SGD = defineUpdate[SGDOptions]("sgd")

func (s SGDOptions) rule() (rule, error) {
	r := rule{line: "sgd", settings: settings{s.Decay, s.Momentum}, hyper: changing{s.Rate}}
	if s.Momentum != 0 {
		r.line = "sgd_momentum"
		if s.Nesterov {
			r.line = "sgd_nesterov"
		}
	}
	return r, nil
}

func (s SGDOptions) reference(x changing, _ float64) func(g float64, o []float64) {
	return func(g float64, o []float64) {
		d := g + s.Decay*o[0]
		if len(o) == 2 {
			o[1] = s.Momentum*o[1] + d
			if s.Nesterov {
				d += s.Momentum * o[1]
			} else {
				d = o[1]
			}
		}
		o[0] -= x[0] * d
	}
}

// Hyperparameters returns the options that an update reads from its first step input: Rate.
func (s SGDOptions) Hyperparameters() []float64 { return hyperparameters(s) }
