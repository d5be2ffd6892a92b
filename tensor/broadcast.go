package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// pairwise is the family of operations z[i] = f(x[i], y[i]) on operands
// stretched to a common shape.
type pairwise struct {
	f *kernels.Kernel
	// slope returns dx and dy in the stretched shape; nil for an input that
	// asks for none. Operations without one have no derivative.
	slope func(x, y, z, dz *Tensor) (dx, dy *Tensor)
	// to is the result's type, where it is not that of the operands.
	to dtype.Type
}

// zip applies op to x and y after promoting them to one type.
func zip(op pairwise, x, y *Tensor) *Tensor {
	x, y = promoted(op.Name(), x, y)
	return Apply(op, x, y)
}

// promoted returns x and y as the one type that they are computed in together.
func promoted(op string, x, y *Tensor) (*Tensor, *Tensor) {
	if x.Type == y.Type {
		return x, y
	}
	common, err := dtype.Promote(x.Type, y.Type)
	check(op, err)
	return x.Cast(common), y.Cast(common)
}

func (op pairwise) Name() string { return op.f.Name }

func (op pairwise) Infer(in ...*Tensor) (dtype.Type, views.View) {
	t := in[0].Type
	if op.to != dtype.Invalid {
		t = op.to
	}
	return t, stretched(op.Name(), in...)
}

func (op pairwise) Forward(w *Work, z storage.Array, in ...storage.Array) error {
	return w.Run(op.f, nil, []storage.Array{z}, stretch(in[0], z.Shape), stretch(in[1], z.Shape))
}

func (op pairwise) Backward(z, dz *Tensor, in ...*Tensor) []*Tensor {
	dx, dy := op.slope(in[0], in[1], z, dz)
	return []*Tensor{dx.shrink(in[0].Shape), dy.shrink(in[1].Shape)}
}

// stretched is how the result of an elementwise operation on in lies in memory:
// as the first operand that has its whole shape, row-major if there is none.
func stretched(op string, in ...*Tensor) views.View {
	shape := in[0].Shape
	for _, x := range in[1:] {
		common, ok := views.BroadcastShape(shape, x.Shape)
		if !ok {
			fail(op, ErrShape, "shapes %v and %v do not stretch to each other", shape, x.Shape)
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

// stretch views a as shape, repeating elements.
func stretch(a storage.Array, shape []int) storage.Array {
	if slices.Equal(a.Shape, shape) {
		return a
	}
	v, _ := a.View.Broadcast(shape...)
	return a.With(v)
}

// shrink undoes a stretch from shape in a gradient: elements that were repeated
// add up. It leaves nil alone.
func (x *Tensor) shrink(shape []int) *Tensor {
	if x == nil || slices.Equal(x.Shape, shape) {
		return x
	}
	lead := x.Rank() - len(shape)
	var axes []int
	for axis, size := range x.Shape {
		if axis < lead || shape[axis-lead] == 1 && size != 1 {
			axes = append(axes, axis)
		}
	}
	return x.SumKeep(axes...).Reshape(shape...)
}

// asks returns gradient() if one should reach x, and nil if computing it is in vain.
func (x *Tensor) asks(gradient func() *Tensor) *Tensor {
	if !x.wants {
		return nil
	}
	return gradient()
}
