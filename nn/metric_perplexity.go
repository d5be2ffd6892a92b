package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// Perplexity is exp of the mean cross entropy of outputs (N, classes, …), logits, and labels (N, …).
type Perplexity struct {
	LabelOptions
	MetricSums
	classVectors
}

// Update adds a batch.
func (m *Perplexity) Update(outputs, labels, weights *tensor.Tensor) {
	outputs, labels, weights = m.rows("perplexity", outputs, labels, weights)
	v := m.of("perplexity", outputs)
	m.addMean("perplexity", tensor.Where(v.isLabel(labels), outputs.LogSoftmax(1), v.zero).Sum(1).Neg(), weights)
}

// Result returns the perplexity, 1 before the first batch.
func (m *Perplexity) Result() (storage.Array, error) { return m.mapped(math.Exp) }

var _ = RegisterMetric("perplexity", func(o LabelOptions) *Perplexity { return &Perplexity{LabelOptions: o} }, LabelOptions{})
