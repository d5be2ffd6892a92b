package tensor

import (
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A reduction combines the elements along axes into one; the axes keep size 1 in the
// result.
type reduction struct {
	f    *kernels.Kernel
	axes []int
	// grad returns dx, of x's shape, from dy, which has y's.
	grad func(x, y, dy *Tensor) *Tensor
}

// KeepDims among the axes of a reduction keeps the axes that are reduced, with size 1:
// x.Mean(0, 2, KeepDims), or x.Sum(KeepDims) of all.
const KeepDims = math.MinInt

// keepDims returns axes without KeepDims, and whether it was among them.
func keepDims(axes []int) (reduced []int, keep bool) {
	for _, axis := range axes {
		if axis != KeepDims {
			reduced = append(reduced, axis)
		}
	}
	return reduced, len(reduced) < len(axes)
}

// joined returns x with the axes of a reduction joined to one, its last, and a function that makes what remains without that
// axis the result.
func (x *Tensor) joined(op string, axes []int) (lines *Tensor, finish func(y *Tensor) *Tensor) {
	axes, keep := keepDims(axes)
	axes = x.axes(op, axes)
	shape, order := slices.Clone(x.Shape()), []int{}
	for axis := range shape {
		if !slices.Contains(axes, axis) {
			order = append(order, axis)
		}
	}
	first := len(order)
	for _, axis := range axes {
		shape[axis] = 1
		order = append(order, axis)
	}
	switch len(axes) {
	case 0:
		x = x.Unsqueeze(-1)
	case 1:
		x = x.Permute(order...)
	default:
		x = x.Permute(order...).Flatten(first)
	}
	return x, func(y *Tensor) *Tensor {
		if keep {
			return y.Reshape(shape...)
		}
		return y
	}
}

// reversed returns numbers of the type of x, or uint8 for bools, whose order is opposite. It is its own inverse.
func (x *Tensor) reversed() *Tensor {
	switch t := x.DType(); {
	case t == dtype.Bool:
		return x.Cast(dtype.Uint8).reversed()
	case t.IsInt():
		return x.filled(views.Of(), 0).Sub(x.filled(views.Of(), 1)).Sub(x) // all bits of x inverted
	}
	return x.Neg()
}

// reduce applies f along axes, all if there are none, and drops them unless KeepDims is among them.
func reduce(f *kernels.Kernel, x *Tensor, axes []int, grad func(x, y, dy *Tensor) *Tensor) *Tensor {
	axes, keep := keepDims(axes)
	axes = x.axes(f.Name, axes)
	y := Apply(reduction{f, axes, grad}, x)
	if keep {
		return y
	}
	return y.dropAxes(axes)
}

func (op reduction) Name() string { return op.f.Name }

func (op reduction) Infer(in []Spec) []Spec {
	shape := slices.Clone(in[0].Shape)
	for _, axis := range op.axes {
		shape[axis] = 1
	}
	return one(op.resultType(in[0].Type), views.Of(shape...))
}

func (op reduction) resultType(t dtype.Type) dtype.Type {
	if op.f == kernels.Sum && !t.IsFloat() && t != dtype.Uint64 {
		return dtype.Int64
	}
	return t
}

func (op reduction) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(op.f, nil, out, in...)
}

func (op reduction) reads([]*Tensor) (operands uint64, results bool) {
	if op.f == kernels.Sum || op.f == kernels.Mean {
		return 0, false
	}
	return 1, true
}

func (op reduction) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{op.grad(in[0], out[0], grads[0])}
}

// axes returns axes counted from the front, all of them if none are named.
func (x *Tensor) axes(op string, axes []int) []int {
	if len(axes) == 0 {
		for axis := range x.Shape() {
			axes = append(axes, axis)
		}
		return axes
	}
	named := make([]int, len(axes))
	for i, axis := range axes {
		named[i] = x.axis(op, axis)
		if slices.Contains(named[:i], named[i]) {
			fail(op, ErrShape, "axis %d of %v is named twice", axis, x.Shape())
		}
	}
	return named
}

// axis returns axis counted from the front; negative ones count from the end.
func (x *Tensor) axis(op string, axis int) int {
	from, err := views.Axis(axis, x.Rank())
	if err != nil {
		fail(op, ErrShape, "%v has no axis %d", x.Shape(), axis)
	}
	return from
}

// dropAxes removes axes, which have size 1.
func (x *Tensor) dropAxes(axes []int) *Tensor {
	if len(axes) == 0 {
		return x
	}
	y := x.Squeeze(axes...)
	y.isView = false // of x, which nothing else refers to
	return y
}

// count returns the number of elements of x that were reduced to one element of y.
func count(x, y *Tensor) float64 {
	n := 1
	for axis, size := range x.Shape() {
		if y.Shape()[axis] != size {
			n *= size
		}
	}
	return float64(n)
}
