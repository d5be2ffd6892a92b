package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// AUCOptions are the settings of an AUC.
type AUCOptions struct {
	Bins          int  `json:"bins"`                    // of probabilities, which are as many thresholds from 0 to 1; 200 if 0
	Masks         bool `json:"masks,omitempty"`         // targets are masks of the shape of the outputs, whose classes are independent
	Probabilities bool `json:"probabilities,omitempty"` // outputs are probabilities, not logits
	IgnoreIndex   *int `json:"ignore_index,omitempty"`  // label of samples to leave out; none if nil
}

// AUC is the area under the curve of true over false positives by threshold (ROC), the mean over classes that have positive and
// negative samples, each against the others. Its state is histograms of the probabilities, so that the thresholds are their bins.
type AUC struct {
	AUCOptions
	MetricSums
	classVectors
}

var aucDefaults = AUCOptions{Bins: 200}

// NewAUC returns an area under the ROC curve.
func NewAUC(o AUCOptions) *AUC { return newAUC(withDefaults(o, aucDefaults)) }

func newAUC(o AUCOptions) *AUC {
	if o.Bins < 2 {
		tensor.Fail("auc", ErrConfig, "bins %d; want at least 2", o.Bins)
	}
	return &AUC{AUCOptions: o}
}

// Update adds a batch.
func (m *AUC) Update(outputs, targets, weights *tensor.Tensor) {
	var p, actual *tensor.Tensor // (M, classes)
	if m.Masks {
		y, t := matchTargets("auc", outputs, targets)
		if y.Rank() == 1 {
			y, t = y.Unsqueeze(1), t.Unsqueeze(1)
		}
		if weights != nil {
			places := y.Select(1, 0).Detach()
			weights = alignWeights("auc", places, weights, dtype.Float64).Contiguous().Reshape(places.Len())
		}
		if !m.Probabilities {
			y = y.Sigmoid()
		}
		p, actual = classRows(y), classRows(t).GtScalar(0.5)
	} else {
		outputs, targets, weights = LabelOptions{m.IgnoreIndex}.rows("auc", outputs, targets, weights)
		actual = m.of("auc", outputs).isLabel(targets)
		if p = outputs; !m.Probabilities {
			p = p.Softmax(1)
		}
	}
	rows, classes := p.Shape()[0], p.Shape()[1]
	bins := p.Detach().Cast(dtype.Float64).MulScalar(float64(m.Bins-1)).Floor().Clamp(0.0, float64(m.Bins-1))
	places := m.of("auc", p).indices.Cast(dtype.Float64).MulScalar(float64(m.Bins)).Add(bins).Cast(dtype.Int64).Reshape(rows * classes)
	one := tensor.OnesLike(bins)
	if weights != nil {
		one = one.Mul(weights.Cast(dtype.Float64).Unsqueeze(1))
	}
	empty := tensor.ZerosLike(bins.Slice(0, 0, 1, 1).Slice(1, 0, 1, 1).Reshape(1).Expand(classes * m.Bins))
	m.Add("all", empty.ScatterAdd(0, places, one.Reshape(rows*classes)))
	m.Add("positive", empty.ScatterAdd(0, places, one.Mul(actual.Cast(dtype.Float64)).Reshape(rows*classes)))
}

// Result returns the area.
func (m *AUC) Result() (storage.Array, error) {
	all, err := m.Sum("all")
	if err != nil {
		return storage.Array{}, err
	}
	positive, err := m.Sum("positive")
	if err != nil {
		return storage.Array{}, err
	}
	var sum, classes float64
	for first := 0; first+m.Bins <= len(all); first += m.Bins {
		var above, negatives, area float64 // above the bin
		for b := m.Bins - 1; b >= 0; b-- {
			p := positive[first+b]
			n := all[first+b] - p
			area += n * (above + p/2)
			above, negatives = above+p, negatives+n
		}
		if above > 0 && negatives > 0 {
			sum, classes = sum+area/(above*negatives), classes+1
		}
	}
	return storage.From([]float64{quotient(sum, classes)}), nil
}

var (
	_ = RegisterMetric("auc", newAUC, aucDefaults)
	_ = metrics.aliases("auc", "auroc", "roc_auc")
)
