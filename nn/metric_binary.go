package nn

import (
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// BinaryAccuracyOptions are the settings of a BinaryAccuracy.
type BinaryAccuracyOptions struct {
	Threshold float64 `json:"threshold,omitempty"` // outputs above it are 1: 0 suits logits, 0.5 probabilities
}

// BinaryAccuracy is the share of elements of the outputs that are on the side of the threshold where their target is, 0 or 1.
type BinaryAccuracy struct {
	BinaryAccuracyOptions
	MetricSums
}

// Update adds a batch.
func (m *BinaryAccuracy) Update(outputs, targets, weights *tensor.Tensor) {
	y, t := matchTargets("binary_accuracy", outputs, targets)
	m.addMean("binary_accuracy", y.GtScalar(m.Threshold).Eq(t.GtScalar(0.5)).Cast(y.DType()), weights)
}

// Result returns the accuracy.
func (m *BinaryAccuracy) Result() (storage.Array, error) { return m.mean() }

var _ = RegisterMetric("binary_accuracy", func(o BinaryAccuracyOptions) *BinaryAccuracy { return &BinaryAccuracy{BinaryAccuracyOptions: o} }, BinaryAccuracyOptions{})
