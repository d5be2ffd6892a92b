package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Reshape returns the elements of x, in the same order, in another shape. One size
// may be -1: it follows from the others. The result shares x's memory; Reshape fails
// if no strides can express that. Make x Contiguous first.
func (x *Tensor) Reshape(shape ...int) *Tensor {
	if slices.Equal(x.Shape(), shape) {
		return x
	}
	v, err := x.array.View.Reshape(shape...)
	check("reshape", err)
	return view(reshape{}, x, v)
}

// Unsqueeze returns x with a new axis of size 1, which becomes axis number axis; -1 is the
// last. It shares x's memory.
func (x *Tensor) Unsqueeze(axis int) *Tensor {
	v, err := x.array.Unsqueeze(axis)
	check("unsqueeze", err)
	axis, _ = views.Axis(axis, v.Rank())
	return view(reshape{inserted: axis + 1}, x, v)
}

// Squeeze returns x without the given axes, which must be of size 1; without arguments,
// without all axes of size 1. It shares x's memory.
func (x *Tensor) Squeeze(axes ...int) *Tensor {
	v, err := x.array.Squeeze(axes...)
	check("squeeze", err)
	return view(reshape{part: func(v views.View) (views.View, error) { return v.Squeeze(axes...) }}, x, v)
}

// Flatten returns x with the axes from first on joined into one, copied if they
// are not in row-major order.
func (x *Tensor) Flatten(first int) *Tensor {
	first = x.axis("flatten", first)
	size := 1
	for _, n := range x.Shape()[first:] {
		size *= n
	}
	shape := append(slices.Clone(x.Shape()[:first]), size)
	if !x.array.View.CanReshape(shape...) {
		x = x.Contiguous()
	}
	return x.Reshape(shape...)
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
	dy, shape := grads[0], in[0].Shape()
	if !dy.array.View.CanReshape(shape...) {
		dy = dy.Contiguous()
	}
	return []*Tensor{dy.Reshape(shape...)}
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
	return one(in[0].Type, views.Of(in[0].Shape...))
}

func (copied) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.Copy, nil, out, in...)
}

func (copied) reads([]*Tensor) (operands uint64, results bool) { return 0, false }

func (copied) Backward(out, grads, in []*Tensor) []*Tensor { return grads }

var (
	_ = samples.Register("reshape", unary(func(x *Tensor) *Tensor { return x.Contiguous().Reshape(x.Shape()[0]/2, 6) }), samples.In(4, 3).Rows())
	_ = samples.Register("unsqueeze", unary(func(x *Tensor) *Tensor { return x.Unsqueeze(1).Unsqueeze(-1) }), samples.In(4, 3).Rows())
	_ = samples.Register("squeeze", unary(func(x *Tensor) *Tensor { return x.Squeeze(1).Squeeze() }), samples.In(4, 1, 3, 1).Rows())
	_ = samples.Register("flatten", unary(func(x *Tensor) *Tensor { return x.Flatten(1) }), samples.In(2, 3, 4).Rows())
	_ = samples.Register("contiguous", unary(func(x *Tensor) *Tensor { return x.Permute(1, 0).Contiguous() }), samples.In(3, 4).Rows())
)
