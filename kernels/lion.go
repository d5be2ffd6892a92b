package kernels

// LionOptions are the options of Lion.
type LionOptions struct{ Rate, Beta1, Beta2, Decay float64 }

// Lion updates parameters p by their gradients g (Chen et al., arXiv:2302.06675, program 2):
//
//	d ← Beta1·m + (1 − Beta1)·g
//	m ← Beta2·m + (1 − Beta2)·g
//	p ← p − Rate·(sign(d) + Decay·p)
//
// Its outputs are p and m of each parameter; update.go describes its inputs.
var Lion = defineUpdate[LionOptions]("lion")

func (s LionOptions) rule() (rule, error) {
	return rule{line: "lion", settings: settings{s.Beta1, s.Beta2, s.Decay}, hyper: changing{s.Rate}}, nil
}

func (s LionOptions) reference(x changing, _ float64) func(g float64, o []float64) {
	return func(g float64, o []float64) {
		d := s.Beta1*o[1] + (1-s.Beta1)*g
		o[1] = s.Beta2*o[1] + (1-s.Beta2)*g
		if d != 0 {
			d /= max(d, -d)
		}
		o[0] = o[0]*(1-x[0]*s.Decay) - x[0]*d
	}
}

// Hyperparameters returns the options that an update reads from its first step input: Rate.
func (s LionOptions) Hyperparameters() []float64 { return hyperparameters(s) }
