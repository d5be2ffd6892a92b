package nn

import (
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/tensor"
)

// A Loss says how far predictions are from what they should be, as one number
// to make small.
type Loss func(predicted, target *tensor.Tensor) *tensor.Tensor

// losses by their names in configurations.
var losses = map[string]Loss{
	"cross_entropy":         CrossEntropy,
	"mean_squared_error":    MeanSquaredError,
	"sum_of_squared_errors": SumOfSquaredErrors,
	"mean_absolute_error":   MeanAbsoluteError,
}

// LossByName returns the loss that configurations call name: cross_entropy,
// mean_squared_error (mse), sum_of_squared_errors (sse) or
// mean_absolute_error (mae).
func LossByName(name string) (Loss, error) {
	short := map[string]string{"mse": "mean_squared_error", "sse": "sum_of_squared_errors", "mae": "mean_absolute_error"}
	if long, ok := short[name]; ok {
		name = long
	}
	if loss, ok := losses[name]; ok {
		return loss, nil
	}
	return nil, at(name, unknown("loss", name, slices.Sorted(maps.Keys(losses))))
}

// CrossEntropy is the mean over samples of −log softmax(logits)[label].
func CrossEntropy(logits, labels *tensor.Tensor) *tensor.Tensor {
	return tensor.CrossEntropy(logits, labels)
}

// MeanSquaredError is the mean over all elements of (predicted − target)².
func MeanSquaredError(predicted, target *tensor.Tensor) *tensor.Tensor {
	predicted = predicted.ToFloat32()
	return tensor.MeanSquaredError(predicted, target.Cast(predicted.Type))
}

// SumOfSquaredErrors is the sum over all elements of (predicted − target)².
func SumOfSquaredErrors(predicted, target *tensor.Tensor) *tensor.Tensor {
	return MeanSquaredError(predicted, target).MulScalar(float64(predicted.Len()))
}

// MeanAbsoluteError is the mean over all elements of |predicted − target|.
func MeanAbsoluteError(predicted, target *tensor.Tensor) *tensor.Tensor {
	predicted = predicted.ToFloat32()
	return predicted.Sub(target.Cast(predicted.Type)).Abs().Mean()
}
