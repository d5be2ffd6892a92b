package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// binaryOp is the family of operations z[i] = f(x[i], y[i]) on operands
// broadcast to a common shape.
type binaryOp struct {
	f *kernels.Kernel
	// grad returns dx and dy in the broadcast shape; nil for an input that
	// requires none. Operations without one have no derivative.
	grad func(x, y, z, dz *Tensor) (dx, dy *Tensor)
	// to is the result's type, where it is not that of the operands.
	to dtype.Type
}

// binary applies op to x and y after promoting them to one type.
func binary(op binaryOp, x, y *Tensor) *Tensor {
	x, y = promoted(op.Name(), x, y)
	if x.DType().IsComplex() {
		return complexBinary(op.f, x, y)
	}
	return Apply(op, x, y)
}

// floats is f of floats x and y, with the gradient grad: integers are promoted to float32.
func floats(f *kernels.Kernel, grad func(x, y, z, dz *Tensor) (dx, dy *Tensor), x, y *Tensor) *Tensor {
	x, y = promoted(f.Name, x, y)
	return binary(binaryOp{f: f, grad: grad}, x.floating(), y.floating())
}

// promoted returns x and y as the one type that they are computed in together.
func promoted(op string, x, y *Tensor) (*Tensor, *Tensor) {
	checkGiven(op, x, y)
	if x.DType() == y.DType() {
		return x, y
	}
	common, err := dtype.Promote(x.DType(), y.DType())
	check(op, err)
	return x.Cast(common), y.Cast(common)
}

func (op binaryOp) Name() string { return op.f.Name }

// Pointwise implements [PointwiseOp].
func (binaryOp) Pointwise() {}

func (op binaryOp) Infer(in []Spec) []Spec {
	t := in[0].Type
	if op.to != dtype.Invalid {
		t = op.to
	}
	return one(t, broadcastLayout(op.Name(), in...))
}

func (op binaryOp) Forward(c *Context, out, in []storage.Array) error {
	if slices.Equal(in[0].Shape, out[0].Shape) && slices.Equal(in[1].Shape, out[0].Shape) {
		return c.Run(op.f, nil, out, in...) // without an allocation
	}
	return c.Run(op.f, nil, out, broadcastTo(in[0], out[0].Shape), broadcastTo(in[1], out[0].Shape))
}

func (op binaryOp) Backward(out, grads, in []*Tensor) []*Tensor {
	dx, dy := op.grad(in[0], in[1], out[0], grads[0])
	return []*Tensor{dx.sumTo(in[0].Shape()), dy.sumTo(in[1].Shape())}
}

// reads says which values the derivatives of some kernels are expressions of.
func (op binaryOp) reads(in []*Tensor) (operands uint64, results bool) {
	switch op.f {
	case kernels.Add, kernels.Sub:
		return 0, false
	case kernels.Mul:
		return readsOther(in), false
	case kernels.Div:
		return 2, in[1].requiresGrad
	}
	return 3, true
}

// readsOther says that the gradient of each of two operands is an expression of the other.
func readsOther(in []*Tensor) (operands uint64) {
	if in[0].requiresGrad {
		operands |= 2
	}
	if in[1].requiresGrad {
		operands |= 1
	}
	return operands
}

// broadcastLayout returns the layout of the result of an elementwise operation on in:
// the layout of the first operand with the shape of the result, or else row-major.
func broadcastLayout(op string, in ...Spec) views.View {
	shape := in[0].Shape
	for _, x := range in[1:] {
		common, ok := views.BroadcastShape(shape, x.Shape)
		if !ok {
			fail(op, ErrShape, "shapes %v and %v do not broadcast together", shape, x.Shape)
		}
		shape = common
	}
	for _, x := range in {
		if slices.Equal(x.Shape, shape) {
			return views.Like(x.View)
		}
	}
	return views.Of(shape...)
}

// broadcastTo views a as shape, repeating elements.
func broadcastTo(a storage.Array, shape []int) storage.Array {
	if slices.Equal(a.Shape, shape) {
		return a
	}
	v, _ := a.View.Broadcast(shape...)
	return a.With(v)
}

// sumTo undoes a broadcast from shape in a gradient: elements that were repeated
// add up. It leaves nil alone.
func (x *Tensor) sumTo(shape []int) *Tensor {
	if x == nil || slices.Equal(x.Shape(), shape) {
		return x
	}
	lead := x.Rank() - len(shape)
	var axes []int
	for axis, size := range x.Shape() {
		if axis < lead || shape[axis-lead] == 1 && size != 1 {
			axes = append(axes, axis)
		}
	}
	return x.Sum(append(axes, KeepDims)...).Reshape(shape...)
}

// registerBroadcasts registers a method of two operands for operands of one shape and of shapes that broadcast. The
// second is drawn from kind.
func registerBroadcasts(name string, f func(x, y *Tensor) *Tensor, kind samples.Kind) bool {
	registerPairs(name, f, kind)
	return samples.Register(name, func(in ...*Tensor) *Tensor { return f(in[0], in[1]) }, samples.In(2, 3, 4), samples.In().Of(kind))
}

// registerPairs is registerBroadcasts without an operand of one element, whose gradient is a sum of 24: too many, if they
// cancel out, for the tolerance of bfloat16.
func registerPairs(name string, f func(x, y *Tensor) *Tensor, kind samples.Kind) bool {
	call := func(in ...*Tensor) *Tensor { return f(in[0], in[1]) }
	samples.Register(name, call, samples.In(2, 3).Rows(), samples.In(2, 3).Of(kind).Rows())
	samples.Register(name, call, samples.In(2, 3), samples.In(3).Of(kind))
	return samples.Register(name, call, samples.In(4, 1), samples.In(1, 5).Of(kind))
}

// ifNeeded returns gradient() if x requires a gradient, else nil.
func (x *Tensor) ifNeeded(gradient func() *Tensor) *Tensor {
	if !x.requiresGrad {
		return nil
	}
	return gradient()
}
