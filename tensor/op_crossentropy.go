package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// CrossEntropy returns the mean over rows of −log softmax(logits)[label], for
// logits (N, classes) and N integer labels. The softmax, its logarithm and its
// derivative are one pass.
func CrossEntropy(logits, labels *Tensor) *Tensor {
	logits = logits.ToFloat32()
	counts := modeOf("cross entropy", nil, nil, []*Tensor{logits, labels}).records()
	return ApplyAll(&crossEntropy{counts: counts}, logits, labels)[0]
}

type crossEntropy struct {
	counts bool    // whether a second result is the number of correct predictions
	grad   *Tensor // (softmax − one-hot)/N
}

func (*crossEntropy) Name() string { return "cross entropy" }

func (op *crossEntropy) Infer(in []Spec) []Spec {
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
	results := one(logits.Type, views.Of())
	if op.counts {
		results = append(results, Spec{Type: dtype.Int64, View: views.Of()})
	}
	return results
}

func (op *crossEntropy) Forward(c *Context, out, in []storage.Array) (err error) {
	if !op.counts {
		return c.Run(kernels.CrossEntropy, nil, out, in...)
	}
	if op.grad, err = c.Save(in[0].Type, views.Of(in[0].Shape...)); err != nil {
		return err
	}
	return c.Run(kernels.CrossEntropy, nil, []storage.Array{out[0], op.grad.array, out[1]}, in...)
}

// storesGrad: see pass.seed.
func (*crossEntropy) storesGrad() {}

func (op *crossEntropy) Backward(out, grads, in []*Tensor) []*Tensor {
	dy := grads[0]
	if dy.noGrad {
		return []*Tensor{op.grad.mulGrad(dy), nil}
	}
	logits, labels := in[0], in[1]
	n, classes := logits.Shape()[0], logits.Shape()[1]
	places := logits.onDevice(storage.From(indices(classes), classes))
	oneHot := labels.Cast(dtype.Int64).Reshape(n, 1).Eq(places).Cast(logits.DType())
	return []*Tensor{logits.Softmax(1).Sub(oneHot).MulScalar(1 / float64(n)).Mul(dy), nil}
}

// indices returns 0, 1, … n-1.
func indices(n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	return all
}

// mulGrad returns x·s for a single element s; x itself where s is the 1 that
// gradients start from.
func (x *Tensor) mulGrad(s *Tensor) *Tensor {
	if s.isOne {
		return x
	}
	return x.Mul(s)
}

var _ = samples.Register("cross entropy", func(in ...*Tensor) *Tensor { return CrossEntropy(in[0], in[1]) }, samples.In(4, 5), samples.Classes(5, 4))

// CountCorrect returns the number of rows of logits (N, classes) that are largest at their
// label, as int64. If loss, which may be nil, is their recorded cross entropy, that has
// counted them already.
func CountCorrect(logits, labels, loss *Tensor) *Tensor {
	if loss != nil && loss.node != nil && slices.Equal(loss.node.in, []*Tensor{logits, labels}) {
		if op, ok := loss.node.op.(*crossEntropy); ok && op.counts {
			return loss.node.out[1]
		}
	}
	modeOf("count correct", nil, nil, []*Tensor{logits, labels}) // refuses formats before types
	(&crossEntropy{}).Infer([]Spec{logits.Spec(), labels.Spec()})
	return runKernel(kernels.Correct, nil, Spec{Type: dtype.Int64, View: views.Of()}, logits, labels)
}

// CountCorrectIgnoring is CountCorrect where rows whose label is ignore are left out: it
// returns their number too.
func CountCorrectIgnoring(logits, labels *Tensor, ignore int) (correct, ignored *Tensor) {
	(&crossEntropy{}).Infer([]Spec{logits.Spec(), labels.Spec()})
	counts := LabelMask(labels, dtype.Float64, logits.Shape()[1], &ignore)
	hits := logits.Detach().ArgMax(1).Eq(labels.Cast(dtype.Int64)).Cast(dtype.Float64)
	return hits.Mul(counts).Sum().Cast(dtype.Int64), counts.Neg().AddScalar(1).Sum().Cast(dtype.Int64)
}

var _ = samples.Register("count correct", func(in ...*Tensor) *Tensor { return CountCorrect(in[0], in[1], nil) },
	samples.In(4, 5).Of(samples.Distinct), samples.Classes(5, 4))
