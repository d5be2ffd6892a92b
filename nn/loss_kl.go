package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
)

// KLDivLossOptions are the settings of a KLDivLoss.
type KLDivLossOptions struct {
	LogTarget bool   `json:"log_target,omitempty"` // targets are logarithms of probabilities
	Logits    bool   `json:"logits,omitempty"`     // outputs are logits of classes along axis 1
	Reduction string `json:"reduction,omitempty"`  // mean (or empty), over all elements, sum, or batchmean, over samples
}

// KLDivLoss is the Kullback-Leibler divergence Σ t·(log t − output) of targets t from outputs that are logarithms of
// probabilities. It is PyTorch's KLDivLoss.
type KLDivLoss struct{ KLDivLossOptions }

// NewKLDivLoss returns a Kullback-Leibler divergence.
func NewKLDivLoss(o KLDivLossOptions) KLDivLoss {
	if o.Reduction != "batchmean" {
		checkReduction("kl_div", o.Reduction)
	}
	return KLDivLoss{o}
}

// Forward returns the divergence.
func (l KLDivLoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	y, t := matchTargets("kl_div", outputs, targets)
	if l.Logits {
		y = y.LogSoftmax(1)
	}
	var each *tensor.Tensor
	if l.LogTarget {
		each = t.Exp().Mul(t.Sub(y))
	} else {
		each = t.Xlogy(t).Sub(t.Mul(y))
	}
	if l.Reduction != "batchmean" {
		return reduceLoss("kl_div", l.Reduction, each, weights)
	}
	for each.Rank() > 1 && (weights == nil || each.Rank() > weights.Rank()) {
		each = each.Sum(each.Rank() - 1)
	}
	if weights == nil || each.Rank() < 2 {
		return reduceLoss("kl_div", "", each, weights)
	}
	sum := each.Mul(alignWeights("kl_div", each, weights, each.DType())).Sum()
	return MeanFraction(sum.DivScalar(float64(each.Shape()[0])), each.Shape()[0])
}

// ComparesElements returns true.
func (KLDivLoss) ComparesElements() bool { return true }

var (
	_ = RegisterLoss("kl_div", NewKLDivLoss, KLDivLossOptions{})
	_ = losses.aliases("kl_div", "kl", "kl_divergence", "kl_div_loss")
)
