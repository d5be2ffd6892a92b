package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/tensor"
)

// OverlapLossOptions are the settings of a DiceLoss and an IoULoss.
type OverlapLossOptions struct {
	Smooth      float64 `json:"smooth"`                 // added to numerator and denominator; 1 if 0
	Masks       bool    `json:"masks,omitempty"`        // targets are masks of the shape of the outputs, which a sigmoid makes probabilities
	IgnoreIndex *int    `json:"ignore_index,omitempty"` // label of places to leave out; none if nil
	Reduction   string  `json:"reduction,omitempty"`    // mean (or empty) or sum
}

// TverskyLossOptions are the settings of a TverskyLoss.
type TverskyLossOptions struct {
	Alpha       float64 `json:"alpha"`                  // weight of false positives; 0.3 if 0
	Beta        float64 `json:"beta"`                   // weight of false negatives; 0.7 if 0
	Smooth      float64 `json:"smooth"`                 // added to numerator and denominator; 1 if 0
	Masks       bool    `json:"masks,omitempty"`        // targets are masks of the shape of the outputs, which a sigmoid makes probabilities
	IgnoreIndex *int    `json:"ignore_index,omitempty"` // label of places to leave out; none if nil
	Reduction   string  `json:"reduction,omitempty"`    // mean (or empty) or sum
}

// TverskyLoss is the mean over samples and classes of 1 − (TP + s)/(TP + α·FP + β·FN + s), where TP, FP and FN are sums
// over the places of a sample: of softmax(outputs) (N, classes, …) and labels (N, …), or of sigmoid(outputs) and masks of
// their shape (Salehi et al., arXiv:1706.05721).
type TverskyLoss struct{ overlapLoss }

var tverskyDefaults = TverskyLossOptions{Alpha: 0.3, Beta: 0.7, Smooth: 1}

// NewTverskyLoss returns a Tversky loss.
func NewTverskyLoss(o TverskyLossOptions) *TverskyLoss {
	return newTversky(withDefaults(o, tverskyDefaults))
}

func newTversky(o TverskyLossOptions) *TverskyLoss {
	checkRange("tversky", "alpha", o.Alpha, 0, infinity)
	checkRange("tversky", "beta", o.Beta, 0, infinity)
	return &TverskyLoss{newOverlap("tversky", OverlapLossOptions{o.Smooth, o.Masks, o.IgnoreIndex, o.Reduction}, o.Alpha, o.Beta, 1)}
}

// overlapLoss is the loss of the overlap of predicted classes and targets. TP, FP and FN are multiplied by scale.
type overlapLoss struct {
	OverlapLossOptions
	labelLoss
	name               string
	alpha, beta, scale float64
}

func newOverlap(name string, o OverlapLossOptions, alpha, beta, scale float64) overlapLoss {
	checkRange(name, "smooth", o.Smooth, 0, infinity)
	checkReduction(name, o.Reduction)
	return overlapLoss{OverlapLossOptions: o, name: name, alpha: alpha, beta: beta, scale: scale}
}

// TakesLabels reports whether targets are labels.
func (l *overlapLoss) TakesLabels() bool { return !l.Masks }

// ComparesElements reports whether targets are masks.
func (l *overlapLoss) ComparesElements() bool { return l.Masks }

func (l *overlapLoss) ignoredLabel() *int { return l.IgnoreIndex }

// Config returns the settings of l.
func (l *TverskyLoss) Config() any {
	return TverskyLossOptions{l.alpha, l.beta, l.Smooth, l.Masks, l.IgnoreIndex, l.Reduction}
}

func (l *TverskyLoss) ignoring(label int) Loss {
	o := l.Config().(TverskyLossOptions)
	o.IgnoreIndex = &label
	return newTversky(o)
}

// Forward returns the loss. Weights of one axis are of samples, others of places.
func (l *overlapLoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	var p, t, places *tensor.Tensor // places are weights, nil if all places count alike
	if l.Masks {
		p, t = matchTargets(l.name, outputs, targets)
		p = p.Sigmoid()
	} else {
		if isSoft(outputs, targets) {
			targets = targets.ArgMax(1)
		}
		rows, labels, _ := labelRows(l.name, outputs.ToFloat32(), targets, nil)
		mask := tensor.LabelMask(labels, rows.DType(), rows.Shape()[1], l.IgnoreIndex)
		p = rows.Softmax(1)
		t = fromRows(l.of(l.name, p).isLabel(labels).Cast(p.DType()), outputs)
		p = fromRows(p, outputs)
		if l.IgnoreIndex != nil {
			places = mask.Reshape(targets.Shape()...)
		}
	}
	if weights != nil && weights.Rank() > 1 {
		weights = alignWeights(l.name, p.Select(1, 0).Detach(), weights, p.DType())
		if places != nil {
			weights = weights.Mul(places)
		}
		places, weights = weights, nil
	}
	weighted := func(x *tensor.Tensor) *tensor.Tensor {
		if places != nil {
			x = x.Mul(places.Unsqueeze(1))
		}
		for x.Rank() > 2 {
			x = x.Sum(x.Rank() - 1)
		}
		return x.MulScalar(l.scale)
	}
	both, predicted, actual := weighted(p.Mul(t)), weighted(p), weighted(t)
	wrong := predicted.Sub(both).MulScalar(l.alpha).Add(actual.Sub(both).MulScalar(l.beta))
	index := both.AddScalar(l.Smooth).Div(both.Add(wrong).AddScalar(l.Smooth))
	return reduceLoss(l.name, l.Reduction, index.RSubScalar(1), weights)
}

// fromRows returns rows (M, classes) in the shape of x (N, classes, …): see classRows.
func fromRows(rows, x *tensor.Tensor) *tensor.Tensor {
	n := x.Rank()
	if n == 2 {
		return rows
	}
	shape := append(slices.Delete(slices.Clone(x.Shape()), 1, 2), x.Shape()[1])
	axes := []int{0, n - 1}
	for i := 1; i < n-1; i++ {
		axes = append(axes, i)
	}
	return rows.Reshape(shape...).Permute(axes...)
}

var _ = RegisterLoss("tversky", newTversky, tverskyDefaults)
