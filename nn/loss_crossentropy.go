package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/tensor"
)

// CrossEntropyLossOptions are the settings of a CrossEntropy and an NLL.
type CrossEntropyLossOptions struct {
	LabelSmoothing float64   `json:"label_smoothing,omitempty"` // share of the target spread evenly over the classes
	ClassWeights   []float64 `json:"class_weights,omitempty"`   // one for each class; all 1 if nil
	IgnoreIndex    *int      `json:"ignore_index,omitempty"`    // label of samples to leave out; none if nil
	Probabilities  bool      `json:"probabilities,omitempty"`   // outputs are probabilities, as after softmax
	Reduction      string    `json:"reduction,omitempty"`       // mean (or empty) or sum
}

// CrossEntropyLoss is the mean over labels of −log softmax(outputs)[label], for
// outputs (N, classes, …) and labels (N, …), with the settings and the weighted mean of
// PyTorch's CrossEntropyLoss. Targets of floats, (N, classes, …), are probabilities of the classes.
type CrossEntropyLoss struct {
	CrossEntropyLossOptions
	labelLoss
}

// NLLLoss is the cross entropy of outputs that are logarithms of probabilities.
type NLLLoss struct {
	CrossEntropyLossOptions
	labelLoss
}

// NewCrossEntropyLoss returns a cross entropy.
func NewCrossEntropyLoss(o CrossEntropyLossOptions) *CrossEntropyLoss {
	o.validate("cross_entropy")
	return &CrossEntropyLoss{CrossEntropyLossOptions: o}
}

// NewNLLLoss returns a negative log likelihood.
func NewNLLLoss(o CrossEntropyLossOptions) *NLLLoss {
	o.validate("nll")
	return &NLLLoss{CrossEntropyLossOptions: o}
}

func (o CrossEntropyLossOptions) validate(loss string) {
	checkRange(loss, "label_smoothing", o.LabelSmoothing, 0, 1)
	checkReduction(loss, o.Reduction)
	for _, w := range o.ClassWeights {
		checkRange(loss, "class_weights", w, 0, infinity)
	}
}

func (o CrossEntropyLossOptions) ignoredLabel() *int { return o.IgnoreIndex }

// Forward returns the cross entropy of outputs (N, classes, …) and labels (N, …) or (N, classes, …).
func (l *CrossEntropyLoss) Forward(outputs, labels, weights *tensor.Tensor) Fraction {
	const name = "cross_entropy"
	logs := logOf
	if !l.Probabilities {
		logs = func(x *tensor.Tensor) *tensor.Tensor { return x.ToFloat32().LogSoftmax(1) }
	}
	if isSoft(outputs, labels) {
		return l.soft(name, l.CrossEntropyLossOptions, logs(outputs), labels, weights)
	}
	outputs, labels, weights = labelRows(name, outputs, labels, weights)
	if !l.Probabilities && weights == nil && l.LabelSmoothing == 0 && l.ClassWeights == nil && l.IgnoreIndex == nil && l.Reduction != "sum" {
		return MeanFraction(tensor.CrossEntropy(outputs, labels), labels.Len())
	}
	return l.forward(name, l.CrossEntropyLossOptions, logs(outputs), labels, weights)
}

// Forward returns the loss of log probabilities (N, classes, …) and labels (N, …) or (N, classes, …).
func (l *NLLLoss) Forward(outputs, labels, weights *tensor.Tensor) Fraction {
	if outputs = outputs.ToFloat32(); l.Probabilities {
		outputs = logOf(outputs)
	}
	if isSoft(outputs, labels) {
		return l.soft("nll", l.CrossEntropyLossOptions, outputs, labels, weights)
	}
	outputs, labels, weights = labelRows("nll", outputs, labels, weights)
	return l.forward("nll", l.CrossEntropyLossOptions, outputs, labels, weights)
}

// leastProbability is what smaller probabilities count as, as in Keras.
const leastProbability = 1e-7

// logOf returns the logarithms of probabilities.
func logOf(p *tensor.Tensor) *tensor.Tensor {
	p = p.ToFloat32()
	least := p.Detach().MulScalar(0).AddScalar(leastProbability)
	return tensor.Where(p.Lt(least), least, p).Log()
}

// labelLoss compares log probabilities with labels. It keeps the constants that it
// needs on each device.
type labelLoss struct{ classVectors }

// TakesLabels reports that targets are labels.
func (*labelLoss) TakesLabels() bool { return true }

func (l *CrossEntropyLoss) ignoring(label int) Loss {
	o := l.CrossEntropyLossOptions
	o.IgnoreIndex = &label
	return NewCrossEntropyLoss(o)
}

func (l *NLLLoss) ignoring(label int) Loss {
	o := l.CrossEntropyLossOptions
	o.IgnoreIndex = &label
	return NewNLLLoss(o)
}

// forward returns the loss of log probabilities p (N, classes). As in PyTorch, with
// class weights w, the label y and the smoothing ε, the loss of a sample is
//
//	−(1−ε)·w[y]·p[y] − ε/classes·Σ w[c]·p[c]
//
// and the mean is over the sum of w[y]. A label that is neither a class nor ignored is an error.
func (l *labelLoss) forward(loss string, o CrossEntropyLossOptions, p, labels, weights *tensor.Tensor) Fraction {
	v := l.of(loss, p, o.ClassWeights...)
	isLabel := v.isLabel(labels)
	oneHot := isLabel.Cast(p.DType())
	kept := tensor.LabelMask(labels, p.DType(), p.Shape()[1], o.IgnoreIndex)
	picked := tensor.Where(isLabel, p, v.zero)
	if v.weights != nil {
		picked, oneHot = picked.Mul(v.weights), oneHot.Mul(v.weights)
	}
	sum := picked.Sum(1).MulScalar(o.LabelSmoothing - 1)
	if o.LabelSmoothing > 0 {
		all := p
		if v.weights != nil {
			all = p.Mul(v.weights)
		}
		sum = sum.Sub(all.Sum(1).MulScalar(o.LabelSmoothing / float64(p.Shape()[1])))
	}
	if weights != nil {
		kept = kept.Mul(alignWeights(loss, sum, weights, sum.DType()))
	}
	total := sum.Mul(kept).Sum()
	switch {
	case o.Reduction == "sum":
		return SumFraction(total)
	case weights == nil && o.ClassWeights == nil && o.IgnoreIndex == nil:
		return MeanFraction(total.DivScalar(labels.Len()), labels.Len())
	}
	return NewFraction(total, oneHot.Sum(1).Mul(kept).Sum())
}

// isSoft reports whether targets are probabilities of classes instead of labels.
func isSoft(outputs, targets *tensor.Tensor) bool {
	return targets.DType().IsFloat() && slices.Equal(outputs.Shape(), targets.Shape())
}

// soft returns the loss of log probabilities p and probabilities t of the classes: the mean over labels of
// −Σ w[c]·((1−ε)·t[c] + ε/classes)·p[c].
func (l *labelLoss) soft(loss string, o CrossEntropyLossOptions, p, t, weights *tensor.Tensor) Fraction {
	if o.IgnoreIndex != nil {
		tensor.Fail(loss, ErrConfig, "ignore_index %d beside targets that are probabilities of classes; want labels, or weights of 0", *o.IgnoreIndex)
	}
	t = t.Cast(p.DType())
	if o.LabelSmoothing > 0 {
		t = t.MulScalar(1 - o.LabelSmoothing).AddScalar(o.LabelSmoothing / float64(p.Shape()[1]))
	}
	if v := l.of(loss, p, o.ClassWeights...); v.weights != nil {
		t = t.Mul(v.weights.Reshape(slices.Concat([]int{p.Shape()[1]}, slices.Repeat([]int{1}, p.Rank()-2))...))
	}
	return reduceLoss(loss, o.Reduction, p.Mul(t).Sum(1).Neg(), weights)
}

var (
	_ = RegisterLoss("cross_entropy", NewCrossEntropyLoss, CrossEntropyLossOptions{})
	_ = RegisterLoss("nll", NewNLLLoss, CrossEntropyLossOptions{})
	_ = losses.aliases("nll", "nll_loss", "negative_log_likelihood")
)
