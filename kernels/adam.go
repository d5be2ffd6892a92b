package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/storage"
)

// AdamOptions are the options of Adam.
type AdamOptions struct {
	Rate, Beta1, Beta2, Eps, Decay float64
	Decoupled                      bool // AdamW
	Step                           int  // counts from 1
	AMSGrad                        bool
}

// Adam updates parameters p by their gradients g (Kingma and Ba,
// arXiv:1412.6980), at step t:
//
//	g ← g + Decay·p, or decoupled (Loshchilov and Hutter, arXiv:1711.05101) p ← p − Rate·Decay·p
//	m ← Beta1·m + (1 − Beta1)·g
//	v ← Beta2·v + (1 − Beta2)·g²
//	w ← max(w, v), or without AMSGrad (Reddi et al., arXiv:1904.09237) v
//	p ← p − Rate·m/(1 − Beta1ᵗ) / (√(w/(1 − Beta2ᵗ)) + Eps)
//
// Its outputs are p, and m and v, which start at zero, of each parameter, and for AMSGrad w; update.go
// describes its inputs. Steps that a loss scaler skipped do not count in t.
var Adam = defineUpdate[AdamOptions]("adam")

func (s AdamOptions) rule() (rule, error) {
	if err := checkStep(s.Step); err != nil {
		return rule{}, err
	}
	coupled, decoupled := splitDecay(s.Decay, s.Decoupled)
	r := rule{line: "adam", settings: settings{s.Beta1, s.Beta2, s.Eps, coupled, decoupled}, hyper: changing{s.Rate, math.Pow(s.Beta1, float64(s.Step)), math.Pow(s.Beta2, float64(s.Step))}}
	if s.AMSGrad {
		r.line = "amsgrad"
	}
	return r, nil
}

func (s AdamOptions) reference(x changing, skipped float64) func(g float64, o []float64) {
	coupled, decoupled := splitDecay(s.Decay, s.Decoupled)
	keep, rate := 1-x[0]*decoupled, x[0]/(1-without(x[1], s.Beta1, skipped))
	scale := 1 / math.Sqrt(1-without(x[2], s.Beta2, skipped))
	return func(g float64, o []float64) {
		g += coupled * o[0]
		o[0] *= keep
		adamMoments(g, o, s.Beta1, s.Beta2)
		w := o[2]
		if s.AMSGrad {
			o[3] = max(o[3], o[2])
			w = o[3]
		}
		o[0] -= rate * o[1] / (math.Sqrt(w)*scale + s.Eps)
	}
}

// Hyperparameters returns the options that an update reads from its first step input: Rate, Beta1ᵗ and Beta2ᵗ.
func (s AdamOptions) Hyperparameters() []float64 { return hyperparameters(s) }

// adamMoments updates the running means o[1] of the gradient and o[2] of its square.
func adamMoments(g float64, o []float64, beta1, beta2 float64) {
	o[1] = beta1*o[1] + (1-beta1)*g
	o[2] = beta2*o[2] + (1-beta2)*g*g
}

// checkStep fails for the number of a step below 1.
func checkStep(step int) error {
	if step < 1 {
		return fmt.Errorf("step %d; steps count from 1: %w", step, storage.ErrState)
	}
	return nil
}

// splitDecay returns the weight decay that is added to gradients, and the one that reduces parameters.
func splitDecay(decay float64, apart bool) (coupled, decoupled float64) {
	if apart {
		return 0, decay
	}
	return decay, 0
}

// without divides a power of x by x^factors.
func without(power, x, factors float64) float64 {
	if power == 0 {
		return 0
	}
	return power / math.Pow(x, factors)
}
