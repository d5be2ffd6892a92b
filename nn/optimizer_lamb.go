package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/tensor"
)

// LAMBOptions are the settings of a LAMB.
type LAMBOptions struct {
	LearningRate float64 `json:"lr"`           // 1e-3 if 0
	Beta1        float64 `json:"beta1"`        // 0.9 if 0
	Beta2        float64 `json:"beta2"`        // 0.999 if 0
	Eps          float64 `json:"eps"`          // 1e-6 if 0
	WeightDecay  float64 `json:"weight_decay"` // added to the update, times the parameter; 0.01 if 0

	Groups  []ParamGroup `json:"groups,omitempty"`   // parameters with settings of their own
	NoDecay Names        `json:"no_decay,omitempty"` // parameters without weight decay: names or patterns such as *.bias
}

// LAMB scales the update of Adam for each parameter by the ratio of the parameter's norm to the update's, or 1 if one of them
// is 0 (You et al., arXiv:1904.00962, algorithm 2).
type LAMB struct {
	LAMBOptions
	composite
}

var lambDefaults = LAMBOptions{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-6, WeightDecay: 0.01}

// NewLAMB returns a LAMB. Zero options stand for their defaults.
func NewLAMB(o LAMBOptions) *LAMB { return newLAMB(withDefaults(o, lambDefaults)) }

func newLAMB(options LAMBOptions) *LAMB {
	checkBetas("lamb", options.Beta1, options.Beta2, options.Eps)
	o := &LAMB{LAMBOptions: options}
	o.setup("lamb", &o.LearningRate, &o.WeightDecay, o.Groups, o.NoDecay, "first_moment", "second_moment")
	o.hyper = func(step int, rate float64) []float64 {
		return []float64{rate, math.Pow(o.Beta1, float64(step)), math.Pow(o.Beta2, float64(step))}
	}
	o.update = func(u tensor.Update, s *stepNumbers) {
		p, g, t := u.Leaf.Detach(), s.grad(u), u.Leaf.DType()
		m := u.State[0].MulScalar(o.Beta1).Add(g.MulScalar(1 - o.Beta1))
		v := u.State[1].MulScalar(o.Beta2).Add(g.Square().MulScalar(1 - o.Beta2))
		unbiased := v.Div(s.correction(2, o.Beta2).Cast(t))
		d := m.Div(s.correction(1, o.Beta1).Cast(t)).Div(unbiased.Sqrt().AddScalar(o.Eps))
		if s.decay != 0 {
			d = d.Add(p.MulScalar(s.decay))
		}
		size, length := norm(p), norm(d)
		rate := s.hyper[0].Mul(trustRatio(size, length, length))
		s.set(u.State[0], m)
		s.set(u.State[1], v)
		s.set(u.Leaf, p.Sub(d.Mul(rate.Cast(t))))
	}
	return o
}

// Config returns the settings of o.
func (o *LAMB) Config() any { return o.withGroups(o.LAMBOptions, o.LearningRate) }

var _ = RegisterOptimizer("lamb", newLAMB, lambDefaults)
