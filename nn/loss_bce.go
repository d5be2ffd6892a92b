package nn

import (
	"cmp"
	"math"

	"github.com/h5dnn/h5dnn/tensor"
)

// BCEWithLogitsLossOptions are the settings of a BCEWithLogits.
type BCEWithLogitsLossOptions struct {
	PosWeight     float64 `json:"pos_weight"`              // weight of targets of 1; 1 if 0
	Probabilities bool    `json:"probabilities,omitempty"` // outputs are probabilities, as after sigmoid
	Reduction     string  `json:"reduction,omitempty"`     // mean (or empty) or sum
}

// BCEWithLogitsLoss is the binary cross entropy of sigmoid(outputs) and targets
// between 0 and 1, as a mean over all elements.
type BCEWithLogitsLoss struct{ BCEWithLogitsLossOptions }

var bceDefaults = BCEWithLogitsLossOptions{PosWeight: 1}

// NewBCEWithLogitsLoss returns a binary cross entropy.
func NewBCEWithLogitsLoss(o BCEWithLogitsLossOptions) BCEWithLogitsLoss {
	return newBCEWithLogits(withDefaults(o, bceDefaults))
}

func newBCEWithLogits(o BCEWithLogitsLossOptions) BCEWithLogitsLoss {
	checkRange("bce_with_logits", "pos_weight", o.PosWeight, math.SmallestNonzeroFloat64, infinity)
	checkReduction("bce_with_logits", o.Reduction)
	return BCEWithLogitsLoss{o}
}

// Forward returns the mean of (1−t)·x + (1 + (p−1)·t)·log(1 + exp(−x)), for outputs
// x, targets t and PosWeight p.
func (l BCEWithLogitsLoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	x, t := matchTargets("bce_with_logits", outputs, targets)
	if l.Probabilities {
		x = logOf(x).Sub(logOf(x.MulScalar(-1).AddScalar(1)))
	}
	soft := softplusOfNegative(x)
	if weight := cmp.Or(l.PosWeight, bceDefaults.PosWeight); weight != 1 {
		soft = soft.Mul(t.MulScalar(weight - 1).AddScalar(1))
	}
	return reduceLoss("bce_with_logits", l.Reduction, x.Sub(x.Mul(t)).Add(soft), weights)
}

// softplusOfNegative returns log(1 + exp(−x)) as log(1 + exp(−|x|)) + max(−x, 0). The
// absolute value is a product with a constant sign, so that the derivative at 0 is
// −1/2.
func softplusOfNegative(x *tensor.Tensor) *tensor.Tensor {
	negative := x.Lt(x.Detach().MulScalar(0)).Cast(x.DType())
	minusAbs := x.Mul(negative.MulScalar(2).AddScalar(-1))
	return minusAbs.Exp().AddScalar(1).Log().Sub(x.Mul(negative))
}

// ComparesElements returns true.
func (BCEWithLogitsLoss) ComparesElements() bool { return true }

var (
	_ = RegisterLoss("bce_with_logits", newBCEWithLogits, bceDefaults)
	_ = losses.aliases("bce_with_logits", "binary_cross_entropy_with_logits", "bce_with_logits_loss")
)
