package nn

import (
	"cmp"
	"math"

	"github.com/h5dnn/h5dnn/tensor"
)

// HuberLossOptions are the settings of a Huber.
type HuberLossOptions struct {
	Delta     float64 `json:"delta"`               // where the loss becomes linear; 1 if 0
	Reduction string  `json:"reduction,omitempty"` // mean (or empty) or sum
}

// HuberLoss is the mean of d²/2 where |d| ≤ δ and δ·(|d| − δ/2) elsewhere, for the
// differences d = output − target.
type HuberLoss struct{ HuberLossOptions }

// SmoothL1LossOptions are the settings of a SmoothL1.
type SmoothL1LossOptions struct {
	Beta      float64 `json:"beta"`                // where the loss becomes linear; 1 if 0
	Reduction string  `json:"reduction,omitempty"` // mean (or empty) or sum
}

// SmoothL1Loss is the Huber loss with δ = β, divided by β.
type SmoothL1Loss struct{ SmoothL1LossOptions }

var (
	huberDefaults    = HuberLossOptions{Delta: 1}
	smoothL1Defaults = SmoothL1LossOptions{Beta: 1}
)

// NewHuberLoss returns a Huber loss.
func NewHuberLoss(o HuberLossOptions) HuberLoss { return newHuber(withDefaults(o, huberDefaults)) }

// NewSmoothL1Loss returns a smooth L1 loss.
func NewSmoothL1Loss(o SmoothL1LossOptions) SmoothL1Loss {
	return newSmoothL1(withDefaults(o, smoothL1Defaults))
}

func newHuber(o HuberLossOptions) HuberLoss {
	checkRange("huber", "delta", o.Delta, math.SmallestNonzeroFloat64, infinity)
	checkReduction("huber", o.Reduction)
	return HuberLoss{o}
}

func newSmoothL1(o SmoothL1LossOptions) SmoothL1Loss {
	checkRange("smooth_l1", "beta", o.Beta, math.SmallestNonzeroFloat64, infinity)
	checkReduction("smooth_l1", o.Reduction)
	return SmoothL1Loss{o}
}

// Forward returns the Huber loss.
func (l HuberLoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	y, t := matchTargets("huber", outputs, targets)
	return reduceLoss("huber", l.Reduction, huber(y.Sub(t), cmp.Or(l.Delta, huberDefaults.Delta)), weights)
}

// Forward returns the smooth L1 loss.
func (l SmoothL1Loss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	y, t := matchTargets("smooth_l1", outputs, targets)
	beta := cmp.Or(l.Beta, smoothL1Defaults.Beta)
	return reduceLoss("smooth_l1", l.Reduction, huber(y.Sub(t), beta).MulScalar(1/beta), weights)
}

// huber is m·(|d| − m/2), where m = min(|d|, δ) = |d| − max(|d| − δ, 0).
func huber(d *tensor.Tensor, delta float64) *tensor.Tensor {
	size := d.Abs()
	m := size.Sub(size.AddScalar(-delta).ReLU())
	return m.Mul(size.Sub(m.MulScalar(0.5)))
}

// IsRegression returns true.
func (HuberLoss) IsRegression() bool { return true }

// IsRegression returns true.
func (SmoothL1Loss) IsRegression() bool { return true }

var (
	_ = RegisterLoss("huber", newHuber, huberDefaults)
	_ = RegisterLoss("smooth_l1", newSmoothL1, smoothL1Defaults)
	_ = losses.aliases("huber", "huber_loss")
	_ = losses.aliases("smooth_l1", "smooth_l1_loss")
)
