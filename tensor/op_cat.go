package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Cat returns xs one after another along axis, in the type that they promote to together; their other axes are equal.
func Cat(axis int, xs ...*Tensor) *Tensor {
	if len(xs) == 0 {
		fail("cat", ErrShape, "of no tensors")
	}
	xs = promotedAll("cat", xs)
	return Apply(cat{xs[0].axis("cat", axis)}, xs...)
}

// Stack returns xs, of one shape, along a new axis, in the type that they promote to together.
func Stack(axis int, xs ...*Tensor) *Tensor {
	if len(xs) == 0 {
		fail("stack", ErrShape, "of no tensors")
	}
	checkGiven("stack", xs...)
	rows := make([]*Tensor, len(xs))
	for i, x := range xs {
		if !slices.Equal(x.Shape(), xs[0].Shape()) {
			fail("stack", ErrShape, "of %v and %v; want one shape", xs[0].Shape(), x.Shape())
		}
		rows[i] = x.Unsqueeze(axis)
	}
	if axis < 0 {
		axis += rows[0].Rank()
	}
	return Cat(axis, rows...)
}

// promotedAll returns xs as the one type that they promote to together.
func promotedAll(op string, xs []*Tensor) []*Tensor {
	checkGiven(op, xs...)
	common := xs[0].DType()
	for _, x := range xs[1:] {
		var err error
		common, err = dtype.Promote(common, x.DType())
		check(op, err)
	}
	same := make([]*Tensor, len(xs))
	for i, x := range xs {
		same[i] = x.Cast(common)
	}
	return same
}

type cat struct{ axis int }

func (cat) Name() string { return "cat" }

func (op cat) Infer(in []Spec) []Spec {
	shape := slices.Clone(in[0].Shape)
	for _, x := range in[1:] {
		if x.Rank() != len(shape) || !equalBut(op.axis, x.Shape, shape) {
			fail("cat", ErrShape, "of %v and %v along axis %d; want equal sizes of the other axes", in[0].Shape, x.Shape, op.axis)
		}
		shape[op.axis] += x.Shape[op.axis]
	}
	return one(in[0].Type, views.Like(views.View{Shape: shape, Stride: in[0].Stride}))
}

// equalBut reports whether a and b agree on all axes but one.
func equalBut(axis int, a, b []int) bool {
	for i := range a {
		if i != axis && a[i] != b[i] {
			return false
		}
	}
	return true
}

func (op cat) Forward(c *Context, out, in []storage.Array) error {
	start := 0
	for _, x := range in {
		v, err := out[0].View.Slice(op.axis, start, start+x.Shape[op.axis], 1)
		if err != nil {
			return err
		}
		if err := c.Run(kernels.Copy, nil, []storage.Array{out[0].With(v)}, x); err != nil {
			return err
		}
		start += x.Shape[op.axis]
	}
	return nil
}

func (op cat) Backward(out, grads, in []*Tensor) []*Tensor {
	sizes := make([]int, len(in))
	for i, x := range in {
		sizes[i] = x.Shape()[op.axis]
	}
	return grads[0].sections(op.axis, sizes)
}

var (
	_ = samples.Register("cat 0", func(in ...*Tensor) *Tensor { return Cat(0, in...) }, samples.In(2, 3).Rows(), samples.In(4, 3).Rows())
	_ = samples.Register("cat -1", func(in ...*Tensor) *Tensor { return Cat(-1, in...) }, samples.In(2, 3).Rows(), samples.In(2, 1).Rows(), samples.In(2, 2).Rows())
	_ = samples.Register("stack", func(in ...*Tensor) *Tensor { return Stack(-1, in...) }, samples.In(2, 3).Rows(), samples.In(2, 3).Rows())
)
