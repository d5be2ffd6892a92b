package nn

import (
	"cmp"

	"github.com/h5dnn/h5dnn/tensor"
)

// QuantileLossOptions are the settings of a QuantileLoss.
type QuantileLossOptions struct {
	Q         float64 `json:"q"`                   // quantile that the outputs estimate; 0.5 if 0
	Reduction string  `json:"reduction,omitempty"` // mean (or empty) or sum
}

// QuantileLoss is the mean over all elements of max(q·d, (q − 1)·d), for the differences d = target − output.
type QuantileLoss struct{ QuantileLossOptions }

var quantileDefaults = QuantileLossOptions{Q: 0.5}

// NewQuantileLoss returns a quantile loss.
func NewQuantileLoss(o QuantileLossOptions) QuantileLoss {
	return newQuantile(withDefaults(o, quantileDefaults))
}

func newQuantile(o QuantileLossOptions) QuantileLoss {
	checkRange("quantile", "q", o.Q, 0, 1)
	checkReduction("quantile", o.Reduction)
	return QuantileLoss{o}
}

// Forward returns the quantile loss.
func (l QuantileLoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	y, t := matchTargets("quantile", outputs, targets)
	d, q := t.Sub(y), cmp.Or(l.Q, quantileDefaults.Q)
	return reduceLoss("quantile", l.Reduction, d.MulScalar(q).Maximum(d.MulScalar(q-1)), weights)
}

// IsRegression returns true.
func (QuantileLoss) IsRegression() bool { return true }

var (
	_ = RegisterLoss("quantile", newQuantile, quantileDefaults)
	_ = losses.aliases("quantile", "pinball", "quantile_loss")
)
