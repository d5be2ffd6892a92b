package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/tensor"
)

// PoissonNLLLossOptions are the settings of a PoissonNLLLoss.
type PoissonNLLLossOptions struct {
	LogInput  bool    `json:"log_input"`           // outputs are logarithms of rates
	Full      bool    `json:"full,omitempty"`      // with Stirling's approximation of log t! for targets above 1
	Eps       float64 `json:"eps"`                 // added to rates before their logarithm; 1e-8 if 0
	Reduction string  `json:"reduction,omitempty"` // mean (or empty) or sum
}

// PoissonNLLLoss is the negative log likelihood of counts t with Poisson distributions: the mean of exp(x) − t·x, or of
// x − t·log(x + eps) without log_input. It is PyTorch's PoissonNLLLoss.
type PoissonNLLLoss struct{ PoissonNLLLossOptions }

var poissonDefaults = PoissonNLLLossOptions{LogInput: true, Eps: 1e-8}

// NewPoissonNLLLoss returns a Poisson negative log likelihood; an eps of 0 is 1e-8.
func NewPoissonNLLLoss(o PoissonNLLLossOptions) PoissonNLLLoss {
	if o.Eps == 0 {
		o.Eps = poissonDefaults.Eps
	}
	return newPoissonNLL(o)
}

func newPoissonNLL(o PoissonNLLLossOptions) PoissonNLLLoss {
	checkRange("poisson_nll", "eps", o.Eps, 0, infinity)
	checkReduction("poisson_nll", o.Reduction)
	return PoissonNLLLoss{o}
}

// Forward returns the negative log likelihood.
func (l PoissonNLLLoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	x, t := matchTargets("poisson_nll", outputs, targets)
	var each *tensor.Tensor
	if l.LogInput {
		each = x.Exp().Sub(t.Mul(x))
	} else {
		each = x.Sub(t.Mul(x.AddScalar(l.Eps).Log()))
	}
	if l.Full {
		stirling := t.Xlogy(t).Sub(t).Add(t.MulScalar(2 * math.Pi).Log().MulScalar(0.5))
		each = each.Add(tensor.Where(t.GtScalar(1), stirling, tensor.ZerosLike(t)))
	}
	return reduceLoss("poisson_nll", l.Reduction, each, weights)
}

// Estimate returns the rates.
func (l PoissonNLLLoss) Estimate(outputs *tensor.Tensor) *tensor.Tensor {
	if l.LogInput {
		return outputs.Exp()
	}
	return outputs
}

// ComparesElements returns true.
func (PoissonNLLLoss) ComparesElements() bool { return true }

var (
	_ = RegisterLoss("poisson_nll", newPoissonNLL, poissonDefaults)
	_ = losses.aliases("poisson_nll", "poisson", "poisson_nll_loss")
)
