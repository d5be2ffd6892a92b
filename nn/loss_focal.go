package nn

import (
	"cmp"

	"github.com/h5dnn/h5dnn/tensor"
)

// FocalLossOptions are the settings of a FocalLoss.
type FocalLossOptions struct {
	Gamma        float64   `json:"gamma"`                   // exponent of 1 − p; 2 if 0
	ClassWeights []float64 `json:"class_weights,omitempty"` // factors of the classes, α; all 1 if nil
	IgnoreIndex  *int      `json:"ignore_index,omitempty"`  // label of samples to leave out; none if nil
	Reduction    string    `json:"reduction,omitempty"`     // mean (or empty) or sum
}

// FocalLoss is the mean over labels of −α[label]·(1−p)^γ·log p, for p = softmax(outputs)[label], outputs
// (N, classes, …) and labels (N, …) (Lin et al., arXiv:1708.02002).
type FocalLoss struct {
	FocalLossOptions
	labelLoss
}

// BinaryFocalLossOptions are the settings of a BinaryFocalLoss.
type BinaryFocalLossOptions struct {
	Gamma     float64 `json:"gamma"`               // exponent of 1 − p; 2 if 0
	Alpha     float64 `json:"alpha"`               // factor of targets of 1, and 1 − α of targets of 0; 0.25 if 0, no factors if negative
	Reduction string  `json:"reduction,omitempty"` // mean (or empty) or sum
}

// BinaryFocalLoss is the focal loss of sigmoid(outputs) and targets between 0 and 1, as torchvision's
// sigmoid_focal_loss: the mean over all elements.
type BinaryFocalLoss struct{ BinaryFocalLossOptions }

var (
	focalDefaults       = FocalLossOptions{Gamma: 2}
	binaryFocalDefaults = BinaryFocalLossOptions{Gamma: 2, Alpha: 0.25}
)

// NewFocalLoss returns a focal loss of labels.
func NewFocalLoss(o FocalLossOptions) *FocalLoss { return newFocal(withDefaults(o, focalDefaults)) }

// NewBinaryFocalLoss returns a focal loss of elements.
func NewBinaryFocalLoss(o BinaryFocalLossOptions) BinaryFocalLoss {
	return newBinaryFocal(withDefaults(o, binaryFocalDefaults))
}

func newFocal(o FocalLossOptions) *FocalLoss {
	checkRange("focal", "gamma", o.Gamma, 0, infinity)
	checkReduction("focal", o.Reduction)
	for _, w := range o.ClassWeights {
		checkRange("focal", "class_weights", w, 0, infinity)
	}
	return &FocalLoss{FocalLossOptions: o}
}

func newBinaryFocal(o BinaryFocalLossOptions) BinaryFocalLoss {
	checkRange("binary_focal", "gamma", o.Gamma, 0, infinity)
	checkReduction("binary_focal", o.Reduction)
	return BinaryFocalLoss{o}
}

// Forward returns the focal loss of labels.
func (l *FocalLoss) Forward(outputs, labels, weights *tensor.Tensor) Fraction {
	outputs, labels, weights = LabelOptions{l.IgnoreIndex}.rows("focal", outputs, labels, weights)
	v := l.of("focal", outputs, l.ClassWeights...)
	isLabel := v.isLabel(labels)
	logs := tensor.Where(isLabel, outputs.LogSoftmax(1), v.zero)
	p := logs.Sum(1)
	if v.weights != nil {
		logs = logs.Mul(v.weights)
	}
	return reduceLoss("focal", l.Reduction, p.Expm1().Neg().PowScalar(l.Gamma).Mul(logs.Sum(1)).Neg(), weights)
}

// Forward returns the mean of −α·(1−p)^γ·log p, where p is the probability of the target.
func (l BinaryFocalLoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	x, t := matchTargets("binary_focal", outputs, targets)
	entropy := x.Sub(x.Mul(t)).Add(softplusOfNegative(x))
	p := x.Sigmoid()
	missed := p.Add(t).Sub(p.Mul(t).MulScalar(2)) // 1 − p·t − (1−p)·(1−t)
	loss := entropy.Mul(missed.PowScalar(l.Gamma))
	if alpha := cmp.Or(l.Alpha, binaryFocalDefaults.Alpha); alpha >= 0 {
		loss = loss.Mul(t.MulScalar(2*alpha - 1).AddScalar(1 - alpha))
	}
	return reduceLoss("binary_focal", l.Reduction, loss, weights)
}

func (o FocalLossOptions) ignoredLabel() *int { return o.IgnoreIndex }

func (l *FocalLoss) ignoring(label int) Loss {
	o := l.FocalLossOptions
	o.IgnoreIndex = &label
	return newFocal(o)
}

// ComparesElements returns true.
func (BinaryFocalLoss) ComparesElements() bool { return true }

var (
	_ = RegisterLoss("focal", newFocal, focalDefaults)
	_ = RegisterLoss("binary_focal", newBinaryFocal, binaryFocalDefaults)
	_ = losses.aliases("focal", "focal_loss")
	_ = losses.aliases("binary_focal", "sigmoid_focal_loss")
)
