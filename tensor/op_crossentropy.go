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
	return Apply(&crossEntropy{}, logits.Widened(), labels)
}

type crossEntropy struct {
	slope storage.Array // (softmax − one-hot)/N
	hits  storage.Array // int64: what Hits counts
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

func (op *crossEntropy) Forward(w *Work, y storage.Array, in ...storage.Array) (err error) {
	if !w.Recording() {
		return w.Run(kernels.CrossEntropy, nil, []storage.Array{y}, in...)
	}
	if op.slope, err = w.Make(in[0].Type, views.Of(in[0].Shape...)); err != nil {
		return err
	}
	if op.hits, err = w.Make(dtype.Int64, views.Of()); err != nil {
		return err
	}
	return w.Run(kernels.CrossEntropy, nil, []storage.Array{y, op.slope, op.hits}, in...)
}

// keepsSlope: see seed.
func (*crossEntropy) keepsSlope() {}

func (op *crossEntropy) Backward(_, dy *Tensor, in ...*Tensor) []*Tensor {
	return []*Tensor{dy.with(op.slope).times(dy), nil}
}

// with returns a as a tensor of the same step as x.
func (x *Tensor) with(a storage.Array) *Tensor {
	return &Tensor{Array: a, quiet: x.quiet, tape: x.tape}
}

// times returns x·s for a single element s; x itself where s is the 1 that
// gradients start from.
func (x *Tensor) times(s *Tensor) *Tensor {
	if s.unit {
		return x
	}
	return x.Mul(s)
}

var _ = Register("cross entropy", func(in ...*Tensor) *Tensor { return CrossEntropy(in[0], in[1]) }, In(4, 5), Classes(5, 4))

// Hits returns how many rows of logits (N, classes) are largest at their label, as
// int64. If loss, which may be nil, is recorded as their cross entropy, it knows.
func Hits(logits, labels, loss *Tensor) *Tensor {
	if loss != nil && loss.node != nil && slices.Equal(loss.node.in, []*Tensor{logits, labels}) {
		if op, ok := loss.node.op.(*crossEntropy); ok {
			return loss.with(op.hits)
		}
	}
	(&crossEntropy{}).Infer(logits, labels)
	return compute(kernels.Hits, nil, Spec{dtype.Int64, views.Of()}, logits, labels)
}
