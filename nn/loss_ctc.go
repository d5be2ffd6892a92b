package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// CTCLossOptions are the settings of a CTCLoss.
type CTCLossOptions struct {
	Blank     int    `json:"blank,omitempty"`     // class of no label
	Padding   int    `json:"padding"`             // label after the last of a sequence, which may be the blank; -1 if 0
	Reduction string `json:"reduction,omitempty"` // mean (or empty) or sum
}

// CTCLoss is the connectionist temporal classification loss of outputs (N, classes, steps), logits, and sequences of labels
// (N, length), padded at the end: −log of the probability of all alignments (Graves et al., 2006), divided by the number of labels for
// a mean over sequences. It is PyTorch's CTCLoss of log softmax(outputs). Sequences longer than their steps allow cost 0. A blank among
// the labels, or a label after padding, is an error.
type CTCLoss struct{ CTCLossOptions }

var ctcDefaults = CTCLossOptions{Padding: -1}

// NewCTCLoss returns a CTC loss.
func NewCTCLoss(o CTCLossOptions) CTCLoss { return newCTC(withDefaults(o, ctcDefaults)) }

func newCTC(o CTCLossOptions) CTCLoss {
	checkReduction("ctc", o.Reduction)
	if o.Blank < 0 {
		tensor.Fail("ctc", ErrConfig, "blank %d; want a class", o.Blank)
	}
	return CTCLoss{o}
}

// impossible is the logarithm of probabilities of 0, finite so that differences of two are numbers.
const impossible = -1e30

// Forward returns the loss. The forward variables of a step, α (N, 2·length+1), are log probabilities of
// all prefixes of the labels with a blank before, between and after them.
func (l CTCLoss) Forward(outputs, labels, weights *tensor.Tensor) Fraction {
	if outputs.Rank() != 3 || labels.Rank() != 2 || !labels.DType().IsInt() || labels.Shape()[0] != outputs.Shape()[0] || outputs.Shape()[2] == 0 {
		tensor.Fail("ctc", views.ErrShape, "outputs %v and labels %v of %v; want (N, classes, steps) and (N, length) integers", outputs.Shape(), labels.Shape(), labels.DType())
	}
	n, steps, length := outputs.Shape()[0], outputs.Shape()[2], labels.Shape()[1]
	logs := outputs.ToFloat32().LogSoftmax(1)
	labels = labels.Cast(dtype.Int64)
	isLabel := labels.NeScalar(l.Padding)
	counts := isLabel.Cast(dtype.Int64).Sum(1, tensor.KeepDims)
	blanks := tensor.FullLike(labels, l.Blank)
	labels = tensor.Where(isLabel, tensor.Where(l.misplaced(labels, isLabel), tensor.FullLike(labels, -1), labels), blanks)
	tensor.LabelMask(labels.Contiguous().Reshape(n*length), logs.DType(), outputs.Shape()[1], nil)
	states := tensor.Cat(1, tensor.Stack(2, blanks, labels).Reshape(n, 2*length), blanks.Slice(1, 0, 1, 1))
	each := logs.TakeAlong(1, states.Unsqueeze(2)) // (N, states, steps)
	s := states.Shape()[1]
	shift := func(x *tensor.Tensor, by int, value any) *tensor.Tensor {
		return x.PadConstant(value, by, 0).Slice(1, 0, s, 1)
	}
	skips := states.Ne(shift(states, 2, int64(l.Blank))).BitAnd(states.NeScalar(l.Blank)) // other labels than the one before
	none := tensor.FullLike(each.Select(2, 0).Detach(), impossible)
	begin := shift(tensor.ZerosLike(none), 2, 1.0)
	alpha := tensor.Where(begin.NeScalar(0), each.Select(2, 0), none)
	for t := 1; t < steps; t++ {
		from := tensor.Stack(2, alpha, shift(alpha, 1, impossible), tensor.Where(skips, shift(alpha, 2, impossible), none))
		alpha = each.Select(2, t).Add(from.LogSumExp(2))
	}
	end := counts.MulScalar(2)
	last := alpha.TakeAlong(1, end)
	if length > 0 {
		last = tensor.Where(counts.GtScalar(0), last.LogAddExp(alpha.TakeAlong(1, end.AddScalar(-1).Clamp(0, nil))), last)
	}
	loss := last.Neg().Reshape(n)
	loss = tensor.Where(loss.LtScalar(-impossible/2), loss, tensor.ZerosLike(loss))
	if l.Reduction != "sum" {
		loss = loss.Div(counts.Clamp(1, nil).Reshape(n).Cast(loss.DType()))
	}
	return reduceLoss("ctc", l.Reduction, loss, weights)
}

// misplaced says which labels (N, length) are blanks, or follow padding. In host memory they are an error at once.
func (l CTCLoss) misplaced(labels, isLabel *tensor.Tensor) *tensor.Tensor {
	before := isLabel.PadConstant(true, 1, 0).Slice(1, 0, labels.Shape()[1], 1)
	wrong := labels.EqScalar(l.Blank).BitOr(before.Not())
	if labels.Device() == storage.CPU {
		for i, bad := range tensor.Values[bool](wrong.BitAnd(isLabel)) {
			if bad {
				tensor.Fail("ctc", views.ErrShape, "sequence %d has label %d at %d; want classes other than the blank %d, and then nothing but the padding %d",
					i/labels.Shape()[1], tensor.Values[int64](labels)[i], i%labels.Shape()[1], l.Blank, l.Padding)
			}
		}
	}
	return wrong
}

var (
	_ = RegisterLoss("ctc", newCTC, ctcDefaults)
	_ = losses.aliases("ctc", "ctc_loss")
)
