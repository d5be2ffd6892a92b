package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// ConfusionMatrix counts labels, the row, by the class of their largest output, the column, for outputs
// (N, classes, …) and labels (N, …).
type ConfusionMatrix struct {
	LabelOptions
	MetricSums
	classVectors
}

// Update adds a batch.
func (m *ConfusionMatrix) Update(outputs, labels, weights *tensor.Tensor) {
	outputs, labels, weights = m.rows("confusion_matrix", outputs, labels, weights)
	v := m.of("confusion_matrix", outputs)
	rows := v.isLabel(labels).Cast(dtype.Float64) // which autocast leaves as it is
	columns := v.isLabel(outputs.ArgMax(1)).Cast(dtype.Float64)
	if weights != nil {
		columns = columns.Mul(alignWeights("confusion_matrix", columns, weights, columns.DType()))
	}
	m.Add("matrix", rows.T().MatMul(columns))
}

// Result returns the matrix (classes, classes), of no elements before the first
// batch.
func (m *ConfusionMatrix) Result() (storage.Array, error) {
	counts, err := m.Sum("matrix")
	if err != nil {
		return storage.Array{}, err
	}
	if counts == nil {
		return storage.From([]float64{}, 0, 0), nil
	}
	return storage.From(counts, m.sums["matrix"].Shape...), nil
}

var _ = RegisterMetric("confusion_matrix", func(o LabelOptions) *ConfusionMatrix { return &ConfusionMatrix{LabelOptions: o} }, LabelOptions{})
