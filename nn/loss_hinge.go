package nn

import (
	"cmp"
	"math"

	"github.com/h5dnn/h5dnn/tensor"
)

// HingeLossOptions are the settings of a HingeLoss.
type HingeLossOptions struct {
	Margin    float64 `json:"margin"`              // 1 if 0
	Squared   bool    `json:"squared,omitempty"`   // the squares of the losses count
	Reduction string  `json:"reduction,omitempty"` // mean (or empty) or sum
}

// MultiMarginLossOptions are the settings of a MultiMarginLoss.
type MultiMarginLossOptions struct {
	Margin       float64   `json:"margin"`                  // 1 if 0
	P            int       `json:"p"`                       // exponent, 1 or 2; 1 if 0
	ClassWeights []float64 `json:"class_weights,omitempty"` // one for each class; all 1 if nil
	IgnoreIndex  *int      `json:"ignore_index,omitempty"`  // label of samples to leave out; none if nil
	Reduction    string    `json:"reduction,omitempty"`     // mean (or empty) or sum
}

// HingeLoss is the mean over all elements of max(0, margin − t·output). Targets t are −1 and 1; a 0 counts as −1.
type HingeLoss struct{ HingeLossOptions }

// HingeEmbeddingLoss is the mean of the outputs, distances, where the target is 1, and of max(0, margin − output) where it is
// −1. It is PyTorch's HingeEmbeddingLoss.
type HingeEmbeddingLoss struct{ HingeLossOptions }

// MultiMarginLoss is the mean over labels of Σ max(0, margin − output[label] + output[c])ᵖ/classes over the other classes c, for
// outputs (N, classes, …) and labels (N, …). It is PyTorch's MultiMarginLoss.
type MultiMarginLoss struct {
	MultiMarginLossOptions
	labelLoss
}

var (
	hingeDefaults       = HingeLossOptions{Margin: 1}
	multiMarginDefaults = MultiMarginLossOptions{Margin: 1, P: 1}
)

// NewHingeLoss returns a hinge loss.
func NewHingeLoss(o HingeLossOptions) HingeLoss { return newHinge(withDefaults(o, hingeDefaults)) }

// NewHingeEmbeddingLoss returns a hinge embedding loss.
func NewHingeEmbeddingLoss(o HingeLossOptions) HingeEmbeddingLoss {
	return newHingeEmbedding(withDefaults(o, hingeDefaults))
}

// NewMultiMarginLoss returns a hinge loss of labels.
func NewMultiMarginLoss(o MultiMarginLossOptions) *MultiMarginLoss {
	return newMultiMargin(withDefaults(o, multiMarginDefaults))
}

func newHinge(o HingeLossOptions) HingeLoss {
	o.validate("hinge")
	return HingeLoss{o}
}

func newHingeEmbedding(o HingeLossOptions) HingeEmbeddingLoss {
	o.validate("hinge_embedding")
	return HingeEmbeddingLoss{o}
}

func (o HingeLossOptions) validate(loss string) {
	checkRange(loss, "margin", o.Margin, math.SmallestNonzeroFloat64, infinity)
	checkReduction(loss, o.Reduction)
}

func newMultiMargin(o MultiMarginLossOptions) *MultiMarginLoss {
	HingeLossOptions{Margin: o.Margin, Reduction: o.Reduction}.validate("multi_margin")
	if o.P != 1 && o.P != 2 {
		tensor.Fail("multi_margin", ErrConfig, "p %d; want 1 or 2", o.P)
	}
	return &MultiMarginLoss{MultiMarginLossOptions: o}
}

// Forward returns the hinge loss.
func (l HingeLoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	y, t := matchTargets("hinge", outputs, targets)
	sign := t.GtScalar(0).Cast(y.DType()).MulScalar(2).AddScalar(-1)
	return reduceLoss("hinge", l.Reduction, l.of(y.Mul(sign)), weights)
}

// Forward returns the loss of distances.
func (l HingeEmbeddingLoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	y, t := matchTargets("hinge_embedding", outputs, targets)
	return reduceLoss("hinge_embedding", l.Reduction, tensor.Where(t.GtScalar(0), y, l.of(y)), weights)
}

// of returns max(0, margin − x), or its square.
func (o HingeLossOptions) of(x *tensor.Tensor) *tensor.Tensor {
	x = x.RSubScalar(cmp.Or(o.Margin, hingeDefaults.Margin)).ReLU()
	if o.Squared {
		return x.Square()
	}
	return x
}

// Forward returns the hinge loss of labels.
func (l *MultiMarginLoss) Forward(outputs, labels, weights *tensor.Tensor) Fraction {
	outputs, labels, weights = LabelOptions{l.IgnoreIndex}.rows("multi_margin", outputs, labels, weights)
	v := l.of("multi_margin", outputs, l.ClassWeights...)
	isLabel := v.isLabel(labels)
	own := tensor.Where(isLabel, outputs, v.zero).Sum(1, tensor.KeepDims)
	each := HingeLossOptions{Margin: l.Margin, Squared: l.P == 2}.of(own.Sub(outputs))
	if v.weights != nil {
		each = each.Mul(tensor.Where(isLabel, v.weights, v.zero).Sum(1, tensor.KeepDims))
	}
	return reduceLoss("multi_margin", l.Reduction, tensor.Where(isLabel, v.zero, each).Sum(1).DivScalar(float64(outputs.Shape()[1])), weights)
}

func (o MultiMarginLossOptions) ignoredLabel() *int { return o.IgnoreIndex }

func (l *MultiMarginLoss) ignoring(label int) Loss {
	o := l.MultiMarginLossOptions
	o.IgnoreIndex = &label
	return newMultiMargin(o)
}

// ComparesElements returns true.
func (HingeLoss) ComparesElements() bool { return true }

// ComparesElements returns true.
func (HingeEmbeddingLoss) ComparesElements() bool { return true }

var (
	_ = RegisterLoss("hinge", newHinge, hingeDefaults)
	_ = RegisterLoss("hinge_embedding", newHingeEmbedding, hingeDefaults)
	_ = RegisterLoss("multi_margin", newMultiMargin, multiMarginDefaults)
)
