package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Linear returns act(x·wᵀ + b) for x (…, in), w (out, in) and b (out), which may be nil.
func Linear(x, w, b *Tensor, act Activation) *Tensor {
	checkGiven("linear", x, w)
	if lead := x.Rank() - 1; lead >= 0 && lead != 1 && w.Rank() == 2 && x.Shape()[lead] == w.Shape()[1] {
		rows := x.Contiguous().Reshape(views.Of(x.Shape()[:lead]...).Len(), w.Shape()[1])
		return Linear(rows, w, b, act).Reshape(append(slices.Clone(x.Shape()[:lead]), w.Shape()[0])...)
	}
	return withActivation(func(e epilogue) Op { return &linear{after: e} }, act, autocast(withBias(x, w, b)...))
}

type linear struct {
	after  epilogue
	mask   *kernels.ReLUMask // of the result, if the activation is a ReLU and the device writes it; else nil
	before *linear           // computed x, and its activation is differentiated with the product that is the gradient of x; nil for none
}

func (*linear) Name() string { return "linear" }

func (op *linear) Infer(in []Spec) []Spec {
	x, w := in[0], in[1]
	wantFloat("linear", in...)
	if x.Rank() != 2 || w.Rank() != 2 || x.Shape[1] != w.Shape[1] {
		fail("linear", ErrShape, "input %v and weight %v; want (N, in) and (out, in)", x.Shape, w.Shape)
	}
	wantBias("linear", w, in[2:])
	return op.after.results(x.Type, views.Of(x.Shape[0], w.Shape[0]))
}

// reads leaves out the bias, and the result if no activation follows the product.
func (op *linear) reads(in []*Tensor) (operands uint64, results bool) {
	return readsOther(in), op.after.act != NoActivation
}

// wantBias fails unless in is empty or one bias for the outputs of weight w,
// and everything is of one type.
func wantBias(op string, w Spec, in []Spec) {
	for _, b := range in {
		if b.Rank() != 1 || b.Shape[0] != w.Shape[0] {
			fail(op, ErrShape, "bias %v for weight %v; want (%d)", b.Shape, w.Shape, w.Shape[0])
		}
	}
}

func (op *linear) Forward(c *Context, out, in []storage.Array) error {
	if err := op.allocMask(c, &out[0]); err != nil {
		return err
	}
	return c.Run(kernels.Linear, kernels.LinearOptions{Act: op.after.act, Mask: op.mask}, out, in...)
}

// allocMask allocates the mask of y if Backward may follow.
func (op *linear) allocMask(c *Context, y *storage.Array) error {
	if op.after.act != ReLUActivation || !c.Recording() {
		return nil
	}
	v, ok := kernels.ReLUMaskView(c.device, y.Type, y.View)
	if !ok {
		return nil
	}
	bits, err := c.Save(dtype.Uint8, v)
	op.mask = &kernels.ReLUMask{Bits: bits.array}
	return err
}

func (op *linear) Backward(out, grads, in []*Tensor) []*Tensor {
	x, w := in[0], in[1]
	if dy := grads[0]; len(in) == 3 && in[2].requiresGrad && w.requiresGrad && dy != nil && dy.noGrad && op.after == (epilogue{}) {
		dx := op.gradX(x, w, dy) // first, because the layers before wait for it
		both := RunKernel(kernels.LinearGradW, nil, []Spec{like(w), like(in[2])}, x, dy)
		return []*Tensor{dx, both[0], both[1]}
	}
	dz, db := op.after.grad(out, grads, optional(in, 2))
	return []*Tensor{
		op.gradX(x, w, dz),
		w.ifNeeded(func() *Tensor { return dz.T().MatMul(x) }),
		db,
	}[:len(in)]
}

// gradX returns the gradient of x, or that of the result of op.before before its activation.
func (op *linear) gradX(x, w, dz *Tensor) *Tensor {
	if op.before == nil {
		return x.ifNeeded(func() *Tensor { return dz.MatMul(w) })
	}
	options := kernels.LinearGradXOptions{Act: op.before.after.act, Mask: op.before.mask}
	return runKernel(kernels.LinearGradX, options, like(x), dz, w, x)
}

func (op *linear) epilogue() epilogue      { return op.after }
func (*linear) withEpilogue(e epilogue) Op { return &linear{after: e} }

func (op *linear) through(before fusable, _, _ []*Tensor) Op {
	if l, ok := before.(*linear); ok && l.mask != nil && l.mask.Written {
		return &linear{after: op.after, before: l}
	}
	return nil
}

// optional returns in[i], or nil if there are fewer.
func optional(in []*Tensor, i int) *Tensor {
	if i < len(in) {
		return in[i]
	}
	return nil
}

func init() {
	for _, act := range []Activation{NoActivation, ReLUActivation, TanhActivation, SigmoidActivation, GELUActivation, GELUTanhActivation, SiLUActivation} {
		samples.Register("linear "+act.String(), func(in ...*Tensor) *Tensor {
			return Linear(in[0], in[1], optional(in, 2), act)
		}, samples.In(5, 3).Rows(), samples.In(4, 3), samples.In(4))
	}
	samples.Register("linear of rank 3", func(in ...*Tensor) *Tensor {
		return Linear(in[0], in[1], in[2], NoActivation)
	}, samples.In(2, 5, 3).Rows(), samples.In(4, 3), samples.In(4))
	samples.Register("linear without bias", func(in ...*Tensor) *Tensor {
		return Linear(in[0], in[1], nil, TanhActivation)
	}, samples.In(5, 3).Rows(), samples.In(4, 3))
}
