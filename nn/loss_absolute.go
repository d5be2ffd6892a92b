package nn

import "github.com/h5dnn/h5dnn/tensor"

// MeanAbsoluteError is the mean over all elements of |output − target|.
type MeanAbsoluteError struct{ LossOptions }

// NewMeanAbsoluteError returns a mean absolute error.
func NewMeanAbsoluteError(o LossOptions) MeanAbsoluteError {
	checkReduction("mean_absolute_error", o.Reduction)
	return MeanAbsoluteError{o}
}

// Forward returns the mean of the absolute differences.
func (l MeanAbsoluteError) Forward(outputs, targets, weights *tensor.Tensor) *tensor.Tensor {
	y, t := matchTargets("mean_absolute_error", outputs, targets)
	return reduceLoss("mean_absolute_error", l.Reduction, y.Sub(t).Abs(), weights)
}

// IsRegression returns true.
func (MeanAbsoluteError) IsRegression() bool { return true }

// Config returns the settings of l.
func (l MeanAbsoluteError) Config() any { return l.LossOptions }

var (
	_ = RegisterLoss("mean_absolute_error", NewMeanAbsoluteError, LossOptions{})
	_ = losses.aliases("mean_absolute_error", "mae", "l1", "l1_loss")
)
