package kernels

import "math"

// NAdamOptions are the options of NAdam, in which μₜ is Momentum(t).
type NAdamOptions struct {
	Rate, Beta1, Beta2, Eps, Decay float64
	Decoupled                      bool
	MomentumDecay                  float64
	Step                           int     // counts from 1
	Momenta                        float64 // μ₁…μₜ
}

// NAdam updates parameters p by their gradients g (Dozat, Incorporating Nesterov Momentum into Adam, 2016; the
// momenta are PyTorch's), at step t: with μₜ = Beta1·(1 − 0.96^(t·MomentumDecay)/2),
//
//	g ← g + Decay·p, or decoupled p ← p − Rate·Decay·p
//	m ← Beta1·m + (1 − Beta1)·g
//	v ← Beta2·v + (1 − Beta2)·g²
//	p ← p − Rate·((1 − μₜ)·g/(1 − μ₁…μₜ) + μₜ₊₁·m/(1 − μ₁…μₜ₊₁)) / (√(v/(1 − Beta2ᵗ)) + Eps)
//
// Its outputs are p, m and v of each parameter; update.go describes its inputs.
var NAdam = defineUpdate[NAdamOptions]("nadam")

func (s NAdamOptions) rule() (rule, error) {
	if err := checkStep(s.Step); err != nil {
		return rule{}, err
	}
	coupled, decoupled := splitDecay(s.Decay, s.Decoupled)
	psi := s.psi()
	return rule{line: "nadam", settings: settings{s.Beta1, s.Beta2, s.Eps, coupled, decoupled, psi}, hyper: changing{s.Rate, math.Pow(s.Beta2, float64(s.Step)), math.Pow(0.96, float64(s.Step)*s.MomentumDecay), s.Momenta}}, nil
}

func (s NAdamOptions) reference(x changing, skipped float64) func(g float64, o []float64) {
	coupled, decoupled := splitDecay(s.Decay, s.Decoupled)
	psi := s.psi()
	product, q := x[3], x[2]
	for range int(skipped) {
		if product > 0 {
			product, q = product/s.momentum(q), q/psi
		}
	}
	q = without(x[2], psi, skipped)
	now := x[0] * (1 - s.momentum(q)) / (1 - product)
	next := x[0] * s.momentum(q*psi) / (1 - product*s.momentum(q*psi))
	keep, scale := 1-x[0]*decoupled, 1/math.Sqrt(1-without(x[1], s.Beta2, skipped))
	return func(g float64, o []float64) {
		g += coupled * o[0]
		adamMoments(g, o, s.Beta1, s.Beta2)
		o[0] = o[0]*keep - (now*g+next*o[1])/(math.Sqrt(o[2])*scale+s.Eps)
	}
}

// psi is the factor from 0.96^(t·MomentumDecay) to the next.
func (s NAdamOptions) psi() float64 { return math.Pow(0.96, s.MomentumDecay) }

// momentum returns μ where q is 0.96^(t·MomentumDecay).
func (s NAdamOptions) momentum(q float64) float64 { return s.Beta1 * (1 - q/2) }

// Momentum returns μₜ.
func (s NAdamOptions) Momentum(t int) float64 {
	return s.momentum(math.Pow(0.96, float64(t)*s.MomentumDecay))
}

// Hyperparameters returns the options that an update reads from its first step input: Rate, Beta2ᵗ,
// 0.96^(t·MomentumDecay) and μ₁…μₜ.
func (s NAdamOptions) Hyperparameters() []float64 { return hyperparameters(s) }
