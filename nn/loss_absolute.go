package nn

import "github.com/h5dnn/h5dnn/tensor"

// L1Loss is the mean over all elements of |output − target|.
type L1Loss struct{ LossOptions }

// NewL1Loss returns a mean absolute error.
func NewL1Loss(o LossOptions) L1Loss {
	checkReduction("mean_absolute_error", o.Reduction)
	return L1Loss{o}
}

// Forward returns the mean of the absolute differences.
func (l L1Loss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	y, t := matchTargets("mean_absolute_error", outputs, targets)
	return reduceLoss("mean_absolute_error", l.Reduction, y.Sub(t).Abs(), weights)
}

// IsRegression returns true.
func (L1Loss) IsRegression() bool { return true }

var (
	_ = RegisterLoss("mean_absolute_error", NewL1Loss, LossOptions{})
	_ = losses.aliases("mean_absolute_error", "mae", "l1", "l1_loss")
)
