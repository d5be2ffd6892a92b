package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A BatchNormSet says how BatchNorm estimates mean and variance.
type BatchNormOptions struct {
	Eps      float64 // added to the variance
	Momentum float64 // how much a batch moves the running estimates
	Training bool    // whether to use, and learn from, the batch's own statistics
	// RunningMean and RunningVar hold one element a channel. Training updates them.
	RunningMean, RunningVar storage.Array
}

// BatchNorm returns gamma·(x − mean)/√(var + eps) + beta, channel by channel of
// x (N, C) or (N, C, H, W), after Ioffe and Szegedy, arXiv:1502.03167. The
// running variance is unbiased, as PyTorch's. Where x is of halves, all else may
// be float32.
func BatchNorm(x, gamma, beta *Tensor, set BatchNormOptions) *Tensor {
	return Apply(&batchNorm{set: set}, x.ToFloat32(), gamma, beta)
}

type batchNorm struct {
	set          BatchNormOptions
	mean, invstd storage.Array // of the batch, or what stood for them
}

func (*batchNorm) Name() string { return "batch norm" }

func (op *batchNorm) Infer(in ...*Tensor) (dtype.Type, views.View) {
	x := in[0]
	wantFloat(op.Name(), in...)
	if x.Rank() != 2 && x.Rank() != 4 {
		fail(op.Name(), ErrShape, "of %v; want (N, C) or (N, C, H, W)", x.Shape)
	}
	for _, a := range []storage.Array{in[1].Array, in[2].Array, op.set.RunningMean, op.set.RunningVar} {
		if a.Rank() != 1 || a.Shape[0] != x.Shape[1] {
			fail(op.Name(), ErrShape, "statistics or parameters %v for channels of %v", a.Shape, x.Shape)
		}
	}
	if op.set.Training && x.Len()/max(1, x.Shape[1]) < 2 {
		fail(op.Name(), ErrShape, "%v has one value a channel: no variance to train on", x.Shape)
	}
	return x.Type, views.Like(x.View)
}

func (op *batchNorm) Forward(w *Context, y storage.Array, in ...storage.Array) (err error) {
	set := kernels.BatchNormSet{Epsilon: op.set.Eps, Momentum: op.set.Momentum}
	if !op.set.Training {
		return w.Run(kernels.BatchNormEval, set, []storage.Array{y}, in[0], in[1], in[2], op.set.RunningMean, op.set.RunningVar)
	}
	channel := views.Of(y.Shape[1])
	if op.mean, err = w.Alloc(in[1].Type, channel); err != nil {
		return err
	}
	if op.invstd, err = w.Alloc(in[1].Type, channel); err != nil {
		return err
	}
	out := []storage.Array{y, op.mean, op.invstd, op.set.RunningMean, op.set.RunningVar}
	return w.Run(kernels.BatchNorm, set, out, in...)
}

func (op *batchNorm) Backward(_, dy *Tensor, in ...*Tensor) []*Tensor {
	x, gamma := in[0], in[1]
	set := kernels.BatchNormSet{Epsilon: op.set.Eps}
	out := []Spec{like(x), like(gamma), like(gamma)}
	if !op.set.Training {
		return RunKernel(kernels.BatchNormEvalGrad, set, out, x, gamma, dy, dy.sameStep(op.set.RunningMean), dy.sameStep(op.set.RunningVar))
	}
	return RunKernel(kernels.BatchNormGrad, set, out, x, gamma, dy, dy.sameStep(op.mean), dy.sameStep(op.invstd))
}

func init() {
	norm := func(training bool) func(in ...*Tensor) *Tensor {
		return func(in ...*Tensor) *Tensor {
			statistics := func(value float64) storage.Array { return in[1].constant(value).Contiguous().CloneDetached().Array }
			return BatchNorm(in[0], in[1], in[2], BatchNormOptions{1e-5, 0.1, training, statistics(0.25), statistics(1.5)})
		}
	}
	Register("batch norm", norm(true), In(5, 3), In(3), In(3))
	Register("batch norm images", norm(true), In(2, 3, 4, 2), In(3), In(3))
	Register("batch norm evaluating", norm(false), In(5, 3).Rows(), In(3), In(3))
	Register("batch norm images evaluating", norm(false), In(2, 3, 4, 2).Rows(), In(3), In(3))
}
