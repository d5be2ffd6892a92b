package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// CrossEntropy returns the mean over rows of −log softmax(logits)[label], for
// logits (N, classes) and N integer labels. The softmax, its logarithm and its
// derivative are one pass.
func CrossEntropy(logits, labels *Tensor) *Tensor {
	return Apply(&crossEntropy{}, logits.ToFloat32(), labels)
}

type crossEntropy struct {
	grad    storage.Array // (softmax − one-hot)/N
	correct storage.Array // int64: the number of correct predictions
}

func (*crossEntropy) Name() string { return "cross entropy" }

func (op *crossEntropy) Infer(in ...*Tensor) (dtype.Type, views.View) {
	logits, labels := in[0], in[1]
	wantFloat(op.Name(), logits)
	if !labels.Type.IsInt() {
		fail(op.Name(), ErrType, "labels of %v; want integers", labels.Type)
	}
	if logits.Rank() != 2 || labels.Rank() != 1 || logits.Shape[0] != labels.Shape[0] {
		fail(op.Name(), ErrShape, "logits %v and labels %v; want (N, classes) and (N)", logits.Shape, labels.Shape)
	}
	if logits.Len() == 0 {
		fail(op.Name(), ErrShape, "logits %v have no mean", logits.Shape)
	}
	return logits.Type, views.Of()
}

func (op *crossEntropy) Forward(w *Context, y storage.Array, in ...storage.Array) (err error) {
	if !w.Recording() {
		return w.Run(kernels.CrossEntropy, nil, []storage.Array{y}, in...)
	}
	if op.grad, err = w.Alloc(in[0].Type, views.Of(in[0].Shape...)); err != nil {
		return err
	}
	if op.correct, err = w.Alloc(dtype.Int64, views.Of()); err != nil {
		return err
	}
	return w.Run(kernels.CrossEntropy, nil, []storage.Array{y, op.grad, op.correct}, in...)
}

// storesGrad: see seed.
func (*crossEntropy) storesGrad() {}

func (op *crossEntropy) Backward(_, dy *Tensor, in ...*Tensor) []*Tensor {
	return []*Tensor{dy.sameStep(op.grad).mulGrad(dy), nil}
}

// with returns a as a tensor of the same step as x.
func (x *Tensor) sameStep(a storage.Array) *Tensor {
	return &Tensor{Array: a, noGrad: x.noGrad, tape: x.tape}
}

// times returns x·s for a single element s; x itself where s is the 1 that
// gradients start from.
func (x *Tensor) mulGrad(s *Tensor) *Tensor {
	if s.isOne {
		return x
	}
	return x.Mul(s)
}

var _ = Register("cross entropy", func(in ...*Tensor) *Tensor { return CrossEntropy(in[0], in[1]) }, In(4, 5), Classes(5, 4))

// CountCorrect returns how many rows of logits (N, classes) are largest at their label, as
// int64. If loss, which may be nil, is recorded as their cross entropy, it knows.
func CountCorrect(logits, labels, loss *Tensor) *Tensor {
	if loss != nil && loss.node != nil && slices.Equal(loss.node.in, []*Tensor{logits, labels}) {
		if op, ok := loss.node.op.(*crossEntropy); ok {
			return loss.sameStep(op.correct)
		}
	}
	(&crossEntropy{}).Infer(logits, labels)
	return runKernel(kernels.Hits, nil, Spec{dtype.Int64, views.Of()}, logits, labels)
}
