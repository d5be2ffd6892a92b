package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// ConfusionMatrix counts samples by their label, the row, and the class of their
// largest output, the column, for outputs (N, classes) and labels (N).
type ConfusionMatrix struct {
	MetricSums
	classVectors
}

// Update adds a batch.
func (m *ConfusionMatrix) Update(outputs, labels, weights *tensor.Tensor) {
	checkLabels("confusion_matrix", outputs, labels)
	outputs = outputs.ToFloat32()
	v := m.of("confusion_matrix", outputs)
	rows := v.isLabel(labels).Cast(dtype.Float64) // which autocast leaves as it is
	columns := v.isLabel(outputs.ArgMax(1)).Cast(dtype.Float64)
	if weights != nil {
		columns = columns.Mul(alignWeights("confusion_matrix", columns, weights))
	}
	m.Add("matrix", rows.T().MatMul(columns))
	m.Add("weight", columns.Sum())
}

// Result returns the matrix (classes, classes), of no elements before the first
// batch.
func (m *ConfusionMatrix) Result() (storage.Array, error) {
	counts, err := m.Sum("matrix")
	if err != nil {
		return storage.Array{}, err
	}
	weight, err := m.Sum("weight")
	if err != nil || counts == nil {
		return storage.From([]float64{}, 0, 0), err
	}
	missing := weight[0]
	for _, c := range counts {
		missing -= c
	}
	if math.Abs(missing) > 1e-6*math.Abs(weight[0]) {
		return storage.Array{}, errkind.Errorf(storage.ErrState, "confusion_matrix: labels of %.4g samples are not classes", missing)
	}
	return storage.From(counts, m.sums["matrix"].Shape...), nil
}

// Config returns no settings.
func (m *ConfusionMatrix) Config() any { return struct{}{} }

var _ = RegisterMetric("confusion_matrix", func(struct{}) *ConfusionMatrix { return &ConfusionMatrix{} }, struct{}{})
