package nn

import (
	"iter"
	"math"

	"github.com/h5dnn/h5dnn/tensor"
)

// MuonOptions are the settings of a Muon.
type MuonOptions struct {
	LearningRate   float64   `json:"lr"`                        // of matrices; 1e-3 if 0
	WeightDecay    float64   `json:"weight_decay"`              // 0.1 if 0
	Momentum       float64   `json:"momentum"`                  // factor of the running mean of gradients; 0.95 if 0
	NoNesterov     bool      `json:"no_nesterov,omitempty"`     // step by the mean itself, without looking ahead
	NSCoefficients []float64 `json:"ns_coefficients,omitempty"` // of the Newton-Schulz iteration; [3.4445, -4.775, 2.0315] if empty
	Eps            float64   `json:"eps"`                       // least norm of an update; 1e-7 if 0
	NSSteps        int       `json:"ns_steps"`                  // 5 if 0
	AdjustLR       string    `json:"adjust_lr_fn,omitempty"`    // original, match_rms_adamw or spectral_unclamped; original if empty
	Exclude        Names     `json:"exclude,omitempty"`         // matrices that AdamW updates too: names or patterns such as embedding.*
	AdamRate       float64   `json:"adam_lr"`                   // of the parameters that AdamW updates; 1e-3 if 0
	AdamBeta1      float64   `json:"adam_beta1"`                // 0.9 if 0
	AdamBeta2      float64   `json:"adam_beta2"`                // 0.999 if 0
	AdamEps        float64   `json:"adam_eps"`                  // 1e-8 if 0

	Groups  []ParamGroup `json:"groups,omitempty"`   // parameters with settings of their own
	NoDecay Names        `json:"no_decay,omitempty"` // parameters without weight decay: names or patterns such as *.bias
}

// Muon steps by the running mean of the gradients of a matrix, made nearly orthogonal by a Newton-Schulz iteration (Jordan et
// al., kellerjordan.github.io/posts/muon, 2024), in the type of the parameter. AdamW updates parameters that are no matrices,
// and those of Exclude.
type Muon struct {
	MuonOptions
	composite
}

var muonDefaults = MuonOptions{LearningRate: 1e-3, WeightDecay: 0.1, Momentum: 0.95, NSCoefficients: []float64{3.4445, -4.775, 2.0315}, Eps: 1e-7, NSSteps: 5,
	AdamRate: 1e-3, AdamBeta1: 0.9, AdamBeta2: 0.999, AdamEps: 1e-8}

// NewMuon returns a Muon. Zero options stand for their defaults.
func NewMuon(o MuonOptions) *Muon { return newMuon(withDefaults(o, muonDefaults)) }

func newMuon(options MuonOptions) *Muon {
	checkRange("muon", "momentum", options.Momentum, 0, 1)
	checkRange("muon", "ns_steps", float64(options.NSSteps), 0, 100)
	checkRange("muon", "eps", options.Eps, 0, infinity)
	checkRange("muon", "adam_lr", options.AdamRate, 0, infinity)
	checkRange("muon", "adam_beta1", options.AdamBeta1, 0, 1)
	checkRange("muon", "adam_beta2", options.AdamBeta2, 0, 1)
	checkRange("muon", "adam_eps", options.AdamEps, 0, infinity)
	if len(options.NSCoefficients) != 3 {
		tensor.Fail("muon", ErrConfig, "ns_coefficients %v; want three", options.NSCoefficients)
	}
	switch options.AdjustLR {
	case "", "original", "match_rms_adamw", "spectral_unclamped":
	default:
		tensor.Fail("muon", ErrConfig, "adjust_lr_fn %q; want original, match_rms_adamw or spectral_unclamped", options.AdjustLR)
	}
	checkPatterns("muon", "exclude", options.Exclude)
	o := &Muon{MuonOptions: options}
	o.setup("muon", &o.LearningRate, &o.WeightDecay, o.Groups, o.NoDecay, "momentum", "first_moment", "second_moment")
	o.layout = func(name string, shape []int) []bufferSpec {
		if len(shape) == 2 && !o.Exclude.match(name) {
			return []bufferSpec{{"momentum", shape}}
		}
		return []bufferSpec{{"first_moment", shape}, {"second_moment", shape}}
	}
	initial := options.LearningRate
	o.hyper = func(step int, rate float64) []float64 {
		h := tensor.AdamOptions{Rate: o.AdamRate, Beta1: o.AdamBeta1, Beta2: o.AdamBeta2, Step: step}
		if initial > 0 {
			h.Rate *= rate / initial // schedules and groups scale both alike
		}
		return append([]float64{rate}, h.Hyperparameters()...)
	}
	o.update = o.updateMatrix
	return o
}

// Step updates every parameter that has a gradient in grads.
func (o *Muon) Step(params iter.Seq2[string, *Parameter], grads tensor.Grads) error {
	return o.Update(params, grads, func(g UpdateGroup) {
		s := o.numbers(g)
		var others []tensor.Update
		for _, u := range g.Updates {
			if len(u.State) == 1 {
				o.update(u, s)
			} else {
				others = append(others, u)
			}
		}
		hyper := o.hyper(max(1, o.steps), o.LearningRate*g.RateFactor)
		adam := tensor.AdamOptions{Rate: hyper[1], Beta1: o.AdamBeta1, Beta2: o.AdamBeta2, Eps: o.AdamEps, Decay: s.decay, Decoupled: true, Step: max(1, o.steps)}
		args := append(tensor.StepArgs(nil), g.Args...)
		if len(args) > 0 {
			args[0] = tensor.FromArray(args[0]).Slice(0, 1, len(hyper), 1).Array()
		}
		tensor.UpdateLeaves(others, adam, args)
	})
}

func (o *Muon) updateMatrix(u tensor.Update, s *stepNumbers) {
	p, g := u.Leaf.Detach(), s.grad(u)
	mean := u.State[0].Lerp(g, 1-o.Momentum)
	d := mean
	if !o.NoNesterov {
		d = g.Lerp(mean, o.Momentum)
	}
	d = o.orthogonal(d)
	s.set(u.State[0], mean)
	s.set(u.Leaf, s.decayed(p).Sub(d.Mul(s.hyper[0].MulScalar(o.adjustment(p.Shape())).Cast(p.DType()))))
}

// orthogonal returns x with singular values of about 1.
func (o *Muon) orthogonal(x *tensor.Tensor) *tensor.Tensor {
	wide := x.Shape()[0] <= x.Shape()[1]
	if !wide {
		x = x.T()
	}
	x = x.Div(norm(x).Clamp(o.Eps, nil).Cast(x.DType()))
	a, b, c := o.NSCoefficients[0], o.NSCoefficients[1], o.NSCoefficients[2]
	for range o.NSSteps {
		gram := x.MatMul(x.T())
		x = x.MulScalar(a).Add(gram.MulScalar(b).Add(gram.MatMul(gram).MulScalar(c)).MatMul(x))
	}
	if !wide {
		x = x.T()
	}
	return x
}

// adjustment returns the factor of the learning rate for a matrix.
func (o *Muon) adjustment(shape []int) float64 {
	rows, columns := float64(shape[0]), float64(shape[1])
	switch o.AdjustLR {
	case "match_rms_adamw":
		return 0.2 * math.Sqrt(max(rows, columns))
	case "spectral_unclamped":
		return math.Sqrt(rows / columns)
	}
	return math.Sqrt(max(1, rows/columns))
}

// Config returns the settings of o.
func (o *Muon) Config() any { return o.withGroups(o.MuonOptions, o.LearningRate) }

var _ = RegisterOptimizer("muon", newMuon, muonDefaults)
