package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Reshape returns the elements of x, in the same order, in another shape. One size
// may be -1: it follows from the others. The result shares x's memory if strides can express
// that, and is a copy if not, as in NumPy and PyTorch.
func (x *Tensor) Reshape(shape ...int) *Tensor {
	if !x.array.CanReshape(shape...) {
		x = x.Contiguous()
	}
	return x.View(shape...)
}

// View is Reshape that always shares x's memory, and fails if no strides can express that.
func (x *Tensor) View(shape ...int) *Tensor {
	if slices.Equal(x.Shape(), shape) {
		return x
	}
	v, err := x.array.View.Reshape(shape...)
	check("reshape", err)
	return view(reshape{}, x, v)
}

// Unsqueeze returns x with new axes of size 1, which have the given numbers in the result; -1 is
// its last axis. It shares x's memory.
func (x *Tensor) Unsqueeze(axes ...int) *Tensor {
	rank := x.Rank() + len(axes)
	order := make([]int, len(axes))
	for i, axis := range axes {
		var err error
		order[i], err = views.Axis(axis, rank)
		check("unsqueeze", err)
	}
	slices.Sort(order)
	for i, axis := range order {
		if i > 0 && axis == order[i-1] {
			fail("unsqueeze", ErrShape, "axis %d twice in %v", axis, axes)
		}
		v, err := x.array.Unsqueeze(axis)
		check("unsqueeze", err)
		x = view(reshape{inserted: axis + 1}, x, v)
	}
	return x
}

// Squeeze returns x without the given axes, which must be of size 1; without arguments,
// without all axes of size 1. It shares x's memory.
func (x *Tensor) Squeeze(axes ...int) *Tensor {
	v, err := x.array.Squeeze(axes...)
	check("squeeze", err)
	return view(reshape{part: func(v views.View) (views.View, error) { return v.Squeeze(axes...) }}, x, v)
}

// Flatten returns x with all its axes joined into one; or those from the first of the given axes on; or those from the
// first to the second, as PyTorch's flatten. It is a copy if they are not in row-major order.
func (x *Tensor) Flatten(axes ...int) *Tensor {
	if len(axes) > 2 {
		fail("flatten", ErrShape, "axes %v; want at most the first and the last", axes)
	}
	if x.Rank() == 0 {
		return x.Reshape(1)
	}
	first, last := 0, x.Rank()-1
	if len(axes) > 0 {
		first = x.axis("flatten", axes[0])
	}
	if len(axes) > 1 {
		last = x.axis("flatten", axes[1])
	}
	if first > last {
		fail("flatten", ErrShape, "axis %d comes after axis %d", first, last)
	}
	size := views.Of(x.Shape()[first : last+1]...).Len()
	return x.Reshape(slices.Replace(slices.Clone(x.Shape()), first, last+1, size)...)
}

// Unflatten returns x with an axis divided into axes of the given sizes, one of which may be -1.
func (x *Tensor) Unflatten(axis int, sizes ...int) *Tensor {
	axis = x.axis("unflatten", axis)
	part, err := views.Of(x.Shape()[axis]).Reshape(sizes...)
	check("unflatten", err)
	return x.View(slices.Replace(slices.Clone(x.Shape()), axis, axis+1, part.Shape...)...)
}

// PreferRowMajor makes pooling and dropout of x write row-major results on a GPU, instead
// of results in the layout of x, so that flattening them needs no copy. On the CPU the
// copy is faster.
func (x *Tensor) PreferRowMajor() {
	if x.Device() != storage.CPU {
		x.rowMajor = true
	}
}

// reshape is any view of the same elements in the same order.
type reshape struct {
	viewOp
	inserted int      // 1 + the axis that is new; 0 if other axes are
	part     viewFunc // that drops axes, if the shapes do not tell which
}

func (reshape) Name() string { return "reshape" }

func (reshape) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{grads[0].Reshape(in[0].Shape()...)}
}

// Contiguous returns x with its elements in row-major order: x itself if they
// are, a copy if not.
func (x *Tensor) Contiguous() *Tensor {
	if x.array.View.Contiguous() {
		return x
	}
	return Apply(copied{}, x)
}

// copied is the identity, laid out row-major.
type copied struct{}

func (copied) Name() string { return "contiguous" }

// Pointwise implements [PointwiseOp].
func (copied) Pointwise() {}

func (copied) Infer(in []Spec) []Spec {
	return []Spec{{Type: in[0].Type, View: views.Of(in[0].Shape...), Format: in[0].Format}}
}

func (copied) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.Copy, nil, out, in...)
}

func (copied) reads([]*Tensor) (operands uint64, results bool) { return 0, false }

func (copied) Backward(out, grads, in []*Tensor) []*Tensor { return grads }

var (
	_ = samples.Register("reshape", unary(func(x *Tensor) *Tensor { return x.Contiguous().Reshape(x.Shape()[0]/2, 6) }), samples.In(4, 3).Rows())
	_ = samples.Register("unsqueeze", unary(func(x *Tensor) *Tensor { return x.Unsqueeze(1, -1) }), samples.In(4, 3).Rows())
	_ = samples.Register("squeeze", unary(func(x *Tensor) *Tensor { return x.Squeeze(1).Squeeze() }), samples.In(4, 1, 3, 1).Rows())
	_ = samples.Register("flatten", unary(func(x *Tensor) *Tensor { return x.Flatten(1) }), samples.In(2, 3, 4).Rows())
	_ = samples.Register("reshape copy", unary(func(x *Tensor) *Tensor { return x.T().Reshape(x.Shape()[0], 3) }), samples.In(4, 3).Rows())
	_ = samples.Register("view", unary(func(x *Tensor) *Tensor { return x.Contiguous().View(3, -1, 1) }), samples.In(4, 3))
	_ = samples.Register("flatten 1 2", unary(func(x *Tensor) *Tensor { return x.Flatten(1, 2) }), samples.In(2, 3, 4, 2).Rows())
	_ = samples.Register("unflatten", unary(func(x *Tensor) *Tensor { return x.Unflatten(-1, 2, -1) }), samples.In(2, 6).Rows())
	_ = samples.Register("contiguous", unary(func(x *Tensor) *Tensor { return x.Permute(1, 0).Contiguous() }), samples.In(3, 4).Rows())
)
