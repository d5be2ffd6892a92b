package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// ClassScoreOptions are the settings of metrics of true and false positives.
type ClassScoreOptions struct {
	Average     string  `json:"average,omitempty"`      // macro (or empty), the mean over classes, micro, over all labels, weighted, by the labels of a class, or none, a number for each class
	Masks       bool    `json:"masks,omitempty"`        // targets are masks of the shape of the outputs, whose classes are independent
	Threshold   float64 `json:"threshold,omitempty"`    // of outputs beside masks, which are positive above it: 0 suits logits, 0.5 probabilities
	IgnoreIndex *int    `json:"ignore_index,omitempty"` // label of samples to leave out; none if nil
}

// classScore is a ratio for each class, of its predictions and labels. Its state is the number of true positives, of
// predictions and of labels.
type classScore struct {
	ClassScoreOptions
	MetricSums
	classVectors
	name      string
	leavesOut bool // the mean over classes is without the ignored one
	ratio     func(both, predicted, actual float64) (numerator, denominator float64)
}

func (o ClassScoreOptions) validate(metric string) {
	if !slices.Contains([]string{"", "macro", "micro", "weighted", "none"}, o.Average) {
		tensor.Fail(metric, ErrConfig, "average %q; want macro, micro, weighted or none", o.Average)
	}
}

// Update adds a batch.
func (m *classScore) Update(outputs, targets, weights *tensor.Tensor) {
	var predicted, actual *tensor.Tensor
	if m.Masks {
		y, t := matchTargets(m.name, outputs, targets)
		predicted, actual = y.GtScalar(m.Threshold), t.GtScalar(0.5)
		if y.Rank() == 1 {
			predicted, actual = predicted.Unsqueeze(1), actual.Unsqueeze(1)
		}
		if weights != nil {
			places := predicted.Select(1, 0)
			weights = alignWeights(m.name, places, weights, dtype.Float64).Contiguous().Reshape(places.Len())
		}
		predicted, actual = classRows(predicted), classRows(actual)
	} else {
		outputs, targets, weights = LabelOptions{m.IgnoreIndex}.rows(m.name, outputs, targets, weights)
		v := m.of(m.name, outputs)
		predicted, actual = v.isLabel(outputs.ArgMax(1)), v.isLabel(targets)
	}
	add := func(name string, x *tensor.Tensor) {
		if x = x.Cast(dtype.Float64); weights != nil {
			x = x.Mul(weights.Cast(dtype.Float64).Unsqueeze(1))
		}
		m.Add(name, x.Sum(0))
	}
	add("both", predicted.BitAnd(actual))
	add("predicted", predicted)
	add("actual", actual)
}

// Result returns the score.
func (m *classScore) Result() (storage.Array, error) {
	var sums [3][]float64
	for i, name := range []string{"both", "predicted", "actual"} {
		var err error
		if sums[i], err = m.Sum(name); err != nil {
			return storage.Array{}, err
		}
	}
	both, predicted, actual := sums[0], sums[1], sums[2]
	scores := make([]float64, len(both))
	var numerators, denominators, labels, sum, weighted, classes float64
	for c := range both {
		n, d := m.ratio(both[c], predicted[c], actual[c])
		scores[c] = quotient(n, d)
		numerators, denominators, labels = numerators+n, denominators+d, labels+actual[c]
		weighted += scores[c] * actual[c]
		if ignored := m.IgnoreIndex != nil && *m.IgnoreIndex == c; ignored && m.leavesOut {
			continue
		}
		if m.Masks || predicted[c]+actual[c] > 0 {
			sum, classes = sum+scores[c], classes+1
		}
	}
	switch m.Average {
	case "none":
		return storage.From(scores, len(scores)), nil
	case "micro":
		return storage.From([]float64{quotient(numerators, denominators)}), nil
	case "weighted":
		return storage.From([]float64{quotient(weighted, labels)}), nil
	}
	return storage.From([]float64{quotient(sum, classes)}), nil
}

// quotient returns a/b, and 0 if b is 0.
func quotient(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
