package nn

import (
	"cmp"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// LabelOptions are the settings of metrics of labels.
type LabelOptions struct {
	IgnoreIndex *int `json:"ignore_index,omitempty"` // label of samples to leave out; none if nil
}

// rows returns outputs (N, classes, …) in at least float32, labels (N, …) and weights as rows: see labelRows. The
// weights, nil or w, leave out labels to be ignored. The label of probabilities (N, classes, …) is the largest.
// A label that is neither a class nor ignored is an error.
func (o LabelOptions) rows(metric string, outputs, labels, w *tensor.Tensor) (_, _, weights *tensor.Tensor) {
	if isSoft(outputs, labels) {
		if labels.Shape()[1] == 1 {
			tensor.Fail(metric, views.ErrShape, "outputs %v have one class; want masks: true, or binary_accuracy", outputs.Shape())
		}
		labels = labels.ArgMax(1)
	}
	outputs, labels, w = labelRows(metric, outputs.ToFloat32(), labels, w)
	mask := tensor.LabelMask(labels, outputs.DType(), outputs.Shape()[1], o.IgnoreIndex)
	switch {
	case o.IgnoreIndex == nil:
		return outputs, labels, w
	case w == nil:
		return outputs, labels, mask
	}
	return outputs, labels, mask.Mul(w.Cast(mask.DType()))
}

// Accuracy is the share of labels whose output is the largest, for outputs (N, classes, …) and labels (N, …).
type Accuracy struct {
	LabelOptions
	MetricSums
}

// Update adds a batch.
func (m *Accuracy) Update(outputs, labels, weights *tensor.Tensor) {
	outputs, labels, weights = m.rows("accuracy", outputs, labels, weights)
	m.addMean("accuracy", outputs.ArgMax(1).Eq(labels.Cast(dtype.Int64)).Cast(outputs.DType()), weights)
}

// Result returns the accuracy.
func (m *Accuracy) Result() (storage.Array, error) { return m.mean() }

// TopKOptions are the settings of a TopK.
type TopKOptions struct {
	K           int  `json:"k"`                      // 5 if 0
	IgnoreIndex *int `json:"ignore_index,omitempty"` // label of samples to leave out; none if nil
}

// TopK is the share of labels for which fewer than K outputs are larger than theirs, for outputs
// (N, classes, …) and labels (N, …).
type TopK struct {
	TopKOptions
	MetricSums
	classVectors
}

var topKDefaults = TopKOptions{K: 5}

// NewTopK returns a top-k accuracy.
func NewTopK(o TopKOptions) *TopK { return newTopK(withDefaults(o, topKDefaults)) }

func newTopK(o TopKOptions) *TopK {
	if o.K < 1 {
		tensor.Fail("top_k", ErrConfig, "k %d; want at least 1", o.K)
	}
	return &TopK{TopKOptions: o}
}

// Update adds a batch.
func (m *TopK) Update(outputs, labels, weights *tensor.Tensor) {
	outputs, labels, weights = LabelOptions{m.IgnoreIndex}.rows("top_k", outputs, labels, weights)
	v := m.of("top_k", outputs)
	isLabel := v.isLabel(labels)
	own := tensor.Where(isLabel, outputs, v.zero).Sum(1, tensor.KeepDims)
	larger := outputs.Gt(own).Cast(outputs.DType()).Sum(1)
	m.addMean("top_k", larger.AddScalar(0.5-float64(cmp.Or(m.K, topKDefaults.K))).Lt(v.zero).Cast(outputs.DType()), weights)
}

// Result returns the top-k accuracy.
func (m *TopK) Result() (storage.Array, error) { return m.mean() }

var (
	_ = RegisterMetric("accuracy", func(o LabelOptions) *Accuracy { return &Accuracy{LabelOptions: o} }, LabelOptions{})
	_ = RegisterMetric("top_k", newTopK, topKDefaults)
	_ = metrics.aliases("top_k", "top_k_accuracy")
)
