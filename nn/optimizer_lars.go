package nn

import "github.com/h5dnn/h5dnn/tensor"

// LARSOptions are the settings of a LARS.
type LARSOptions struct {
	LearningRate     float64 `json:"lr"`                // 0.1 if 0
	Momentum         float64 `json:"momentum"`          // share of the last update that is added to the next; 0.9 if 0
	WeightDecay      float64 `json:"weight_decay"`      // added to the gradient, times the parameter
	TrustCoefficient float64 `json:"trust_coefficient"` // 1e-3 if 0
	Eps              float64 `json:"eps"`               // added to the denominator of the ratio; 1e-8 if 0

	Groups  []ParamGroup `json:"groups,omitempty"`   // parameters with settings of their own
	NoDecay Names        `json:"no_decay,omitempty"` // parameters without weight decay: names or patterns such as *.bias
}

// LARS is SGD with momentum whose learning rate is multiplied for each parameter by TrustCoefficient·‖p‖/(‖g‖ + decay·‖p‖ + eps),
// or by 1 if one of the norms is 0 (You, Gitman and Ginsburg, arXiv:1708.03888, algorithm 1).
type LARS struct {
	LARSOptions
	composite
}

var larsDefaults = LARSOptions{LearningRate: 0.1, Momentum: 0.9, TrustCoefficient: 1e-3, Eps: 1e-8}

// NewLARS returns a LARS. Zero options stand for their defaults.
func NewLARS(o LARSOptions) *LARS { return newLARS(withDefaults(o, larsDefaults)) }

func newLARS(options LARSOptions) *LARS {
	checkRange("lars", "momentum", options.Momentum, 0, infinity)
	checkRange("lars", "trust_coefficient", options.TrustCoefficient, 0, infinity)
	checkRange("lars", "eps", options.Eps, 0, infinity)
	o := &LARS{LARSOptions: options}
	o.setup("lars", &o.LearningRate, &o.WeightDecay, o.Groups, o.NoDecay, "momentum")
	o.hyper = func(_ int, rate float64) []float64 { return []float64{rate} }
	o.update = func(u tensor.Update, s *stepNumbers) {
		p, g := u.Leaf.Detach(), s.grad(u)
		size, slope := norm(p), norm(g)
		ratio := trustRatio(size.MulScalar(o.TrustCoefficient), slope, slope.Add(size.MulScalar(s.decay)).AddScalar(o.Eps))
		if s.decay != 0 {
			g = g.Add(p.MulScalar(s.decay))
		}
		v := u.State[0].MulScalar(o.Momentum).Add(g.Mul(s.hyper[0].Mul(ratio).Cast(g.DType())))
		s.set(u.State[0], v)
		s.set(u.Leaf, p.Sub(v))
	}
	return o
}

// Config returns the settings of o.
func (o *LARS) Config() any { return o.withGroups(o.LARSOptions, o.LearningRate) }

var _ = RegisterOptimizer("lars", newLARS, larsDefaults)
