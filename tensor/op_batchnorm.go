package tensor

import (
	"cmp"
	"slices"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// BatchNormOptions are the options of BatchNorm.
type BatchNormOptions struct {
	Eps      float64 // added to the variance; 1e-5 if 0
	Momentum float64 // weight of a batch in the running statistics; with 0 they do not change
	Training bool    // whether to normalise by the statistics of the batch, and update the running ones
	// RunningMean and RunningVar hold an element for each channel. Training updates them.
	RunningMean, RunningVar storage.Array
	Act                     Activation // of the result
}

// BatchNorm returns act(gamma·(x − mean)/√(var + eps) + beta), channel by channel of
// x (N, C, …), after Ioffe and Szegedy, arXiv:1502.03167. The
// running variance is unbiased, as PyTorch's. For x of half floats, the other operands may
// be float32.
func BatchNorm(x, gamma, beta *Tensor, o BatchNormOptions) *Tensor {
	if o.Eps == 0 {
		o.Eps = 1e-5
	}
	return withActivation(func(e epilogue) Op { return &batchNorm{options: o, after: e} }, o.Act, []*Tensor{x.ToFloat32(), gamma, beta})
}

type batchNorm struct {
	options      BatchNormOptions
	after        epilogue
	mean, invstd *Tensor // of the batch
}

func (*batchNorm) Name() string { return "batch norm" }

func (op *batchNorm) Infer(in []Spec) []Spec {
	x := in[0]
	wantFloat(op.Name(), in...)
	if x.Rank() < 2 {
		fail(op.Name(), ErrShape, "of %v; want (N, C, …)", x.Shape)
	}
	for _, a := range []views.View{in[1].View, in[2].View, op.options.RunningMean.View, op.options.RunningVar.View} {
		if a.Rank() != 1 || a.Shape[0] != x.Shape[1] {
			fail(op.Name(), ErrShape, "statistics or parameters %v for channels of %v", a.Shape, x.Shape)
		}
	}
	if op.options.Training && x.Len()/max(1, x.Shape[1]) < 2 {
		fail(op.Name(), ErrShape, "%v has one value a channel: no variance to train on", x.Shape)
	}
	return op.after.results(x.Type, views.Like(x.View))
}

func (op *batchNorm) Forward(c *Context, out, in []storage.Array) (err error) {
	o := kernels.BatchNormOptions{Epsilon: op.options.Eps, Momentum: op.options.Momentum, ReLU: op.after.act == ReLUActivation}
	if !op.options.Training {
		err := c.Run(kernels.BatchNormEval, o, out[len(out)-1:], in[0], in[1], in[2], op.options.RunningMean, op.options.RunningVar)
		return cmp.Or(err, op.activate(c, out))
	}
	if c.Recomputing() {
		o.Momentum = 0
	}
	channel := views.Of(out[0].Shape[1])
	if op.mean, err = c.Save(in[1].Type, channel); err != nil {
		return err
	}
	if op.invstd, err = c.Save(in[1].Type, channel); err != nil {
		return err
	}
	all := []storage.Array{out[len(out)-1], op.mean.array, op.invstd.array, op.options.RunningMean, op.options.RunningVar}
	return cmp.Or(c.Run(kernels.BatchNorm, o, all, in...), op.activate(c, out))
}

// activate applies an activation other than relu, which the kernel does, to the last of out.
func (op *batchNorm) activate(c *Context, out []storage.Array) error {
	if op.after.act == NoActivation || op.after.act == ReLUActivation {
		return nil
	}
	return c.Run(op.after.act.Kernel(), nil, out[:1], out[len(out)-1])
}

func (op *batchNorm) epilogue() epilogue { return op.after }

func (op *batchNorm) withEpilogue(e epilogue) Op {
	fused := *op
	fused.after = e
	return &fused
}

func (op *batchNorm) Backward(out, grads, in []*Tensor) []*Tensor {
	x, gamma, dy := in[0], in[1], grads[0]
	var relu []*Tensor
	if y := out[0]; dy != nil && dy.noGrad && op.after == (epilogue{act: ReLUActivation}) && slices.Equal(y.Strides(), dy.Strides()) && y.StorageOffset() == dy.StorageOffset() {
		relu = []*Tensor{y}
	} else {
		dy, _ = op.after.grad(out, grads, nil)
	}
	if !dy.noGrad {
		return op.recordedBackward(x, gamma, dy)
	}
	o := kernels.BatchNormOptions{Epsilon: op.options.Eps}
	specs := []Spec{like(x), like(gamma), like(gamma)}
	if !op.options.Training {
		return RunKernel(kernels.BatchNormEvalGrad, o, specs, append([]*Tensor{x, gamma, dy, dy.sameStep(op.options.RunningMean), dy.sameStep(op.options.RunningVar)}, relu...)...)
	}
	return RunKernel(kernels.BatchNormGrad, o, specs, append([]*Tensor{x, gamma, dy, op.mean, op.invstd}, relu...)...)
}

// recordedBackward is Backward in operations that can be recorded.
func (op *batchNorm) recordedBackward(x, gamma, dy *Tensor) []*Tensor {
	channels := make([]int, x.Rank())
	for axis := range channels {
		channels[axis] = 1
	}
	channels[1] = x.Shape()[1]
	others := without(1, x.Rank())
	g := dy.Mul(gamma.Reshape(channels...))
	var dx, normal *Tensor
	if op.options.Training {
		dx, normal = normGrad(x, g, others, op.options.Eps)
	} else {
		running := func(a storage.Array) *Tensor { return dy.sameStep(a).Reshape(channels...) }
		std := running(op.options.RunningVar).AddScalar(op.options.Eps).Sqrt()
		dx, normal = g.Div(std), x.Sub(running(op.options.RunningMean)).Div(std)
	}
	return []*Tensor{dx, dy.Mul(normal).Sum(others...), dy.Sum(others...)}
}

func init() {
	norm := func(training bool, act Activation) func(in ...*Tensor) *Tensor {
		return func(in ...*Tensor) *Tensor {
			statistics := func(value float64) storage.Array { return in[1].constant(value).Contiguous().CloneDetached().array }
			return BatchNorm(in[0], in[1], in[2], BatchNormOptions{
				Training: training, RunningMean: statistics(0.25), RunningVar: statistics(1.5), Act: act,
			})
		}
	}
	samples.Register("batch norm", norm(true, NoActivation), samples.In(5, 3), samples.In(3), samples.In(3))
	samples.Register("batch norm images", norm(true, NoActivation), samples.In(2, 3, 4, 2), samples.In(3), samples.In(3))
	samples.Register("batch norm sequences", norm(true, NoActivation), samples.In(2, 3, 4), samples.In(3), samples.In(3))
	samples.Register("batch norm relu", norm(true, ReLUActivation), samples.In(2, 3, 4, 2), samples.In(3), samples.In(3))
	samples.Register("batch norm relu", norm(false, ReLUActivation), samples.In(2, 3, 4, 2).Rows(), samples.In(3), samples.In(3))
	samples.Register("batch norm then relu", func(in ...*Tensor) *Tensor { return norm(true, NoActivation)(in...).ReLU() }, samples.In(2, 3, 4, 2), samples.In(3), samples.In(3))
	samples.Register("batch norm evaluating", norm(false, NoActivation), samples.In(5, 3).Rows(), samples.In(3), samples.In(3))
	samples.Register("batch norm images evaluating", norm(false, NoActivation), samples.In(2, 3, 4, 2).Rows(), samples.In(3), samples.In(3))
}
