package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// AbsoluteErrorMetric is the mean of |output − target|.
type AbsoluteErrorMetric struct {
	MetricSums
}

// SquaredErrorMetric is the mean of (output − target)².
type SquaredErrorMetric struct {
	MetricSums
}

// Update adds a batch.
func (m *AbsoluteErrorMetric) Update(outputs, targets, weights *tensor.Tensor) {
	y, t := matchTargets("mean_absolute_error", outputs, targets)
	m.addMean("mean_absolute_error", y.Sub(t).Abs(), weights)
}

// Update adds a batch.
func (m *SquaredErrorMetric) Update(outputs, targets, weights *tensor.Tensor) {
	y, t := matchTargets("mean_squared_error", outputs, targets)
	d := y.Sub(t)
	m.addMean("mean_squared_error", d.Mul(d), weights)
}

// RootSquaredErrorMetric is the square root of the mean of (output − target)².
type RootSquaredErrorMetric struct{ SquaredErrorMetric }

// Result returns the root of the mean.
func (m *RootSquaredErrorMetric) Result() (storage.Array, error) { return m.mapped(math.Sqrt) }

// Result returns the mean.
func (m *AbsoluteErrorMetric) Result() (storage.Array, error) { return m.mean() }

// Result returns the mean.
func (m *SquaredErrorMetric) Result() (storage.Array, error) { return m.mean() }

var (
	_ = RegisterMetric("mean_absolute_error", func(struct{}) *AbsoluteErrorMetric { return &AbsoluteErrorMetric{} }, struct{}{})
	_ = RegisterMetric("mean_squared_error", func(struct{}) *SquaredErrorMetric { return &SquaredErrorMetric{} }, struct{}{})
	_ = metrics.aliases("mean_absolute_error", "mae", "l1")
	_ = RegisterMetric("root_mean_squared_error", func(struct{}) *RootSquaredErrorMetric { return &RootSquaredErrorMetric{} }, struct{}{})
	_ = metrics.aliases("mean_squared_error", "mse")
	_ = metrics.aliases("root_mean_squared_error", "rmse")
)
