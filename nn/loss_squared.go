package nn

import "github.com/h5dnn/h5dnn/tensor"

// LossOptions are the settings of losses that have no others.
type LossOptions struct {
	Reduction string `json:"reduction,omitempty"` // mean (or empty) or sum
}

// MSELoss is the mean over all elements of (output − target)².
type MSELoss struct{ LossOptions }

// SumOfSquaredErrors is the sum over all elements of (output − target)².
type SumOfSquaredErrors struct{}

// NewMSELoss returns a mean squared error.
func NewMSELoss(o LossOptions) MSELoss {
	checkReduction("mean_squared_error", o.Reduction)
	return MSELoss{o}
}

// Forward returns the mean of the squared differences.
func (l MSELoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	y, t := matchTargets("mean_squared_error", outputs, targets)
	return squaredError("mean_squared_error", l.Reduction, y, t, weights)
}

// Forward returns the sum of the squared differences.
func (SumOfSquaredErrors) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	y, t := matchTargets("sum_of_squared_errors", outputs, targets)
	return squaredError("sum_of_squared_errors", "sum", y, t, weights)
}

// squaredError uses the operation of its own for the plain mean.
func squaredError(loss, reduction string, y, t, weights *tensor.Tensor) Fraction {
	if weights == nil {
		mean := tensor.MeanSquaredError(y, t)
		if reduction == "sum" {
			return SumFraction(mean.MulScalar(float64(y.Len())))
		}
		return MeanFraction(mean, y.Len())
	}
	d := y.Sub(t)
	return reduceLoss(loss, reduction, d.Mul(d), weights)
}

// IsRegression returns true.
func (MSELoss) IsRegression() bool { return true }

// IsRegression returns true.
func (SumOfSquaredErrors) IsRegression() bool { return true }

var (
	_ = RegisterLoss("mean_squared_error", NewMSELoss, LossOptions{})
	_ = registerPlain[SumOfSquaredErrors](&losses, "sum_of_squared_errors")
	_ = losses.aliases("mean_squared_error", "mse", "mse_loss")
	_ = losses.aliases("sum_of_squared_errors", "sse")
)
