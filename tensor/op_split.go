package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// The functions in this file are one operation with several results, which share x's memory: the gradients of all
// results are joined once. A loop over Select makes a gradient of x's size for each.

// Split returns x cut along axis into parts of the given sizes; of one size, into parts of that size, the last of which
// may be smaller.
func (x *Tensor) Split(axis int, sizes ...int) []*Tensor {
	axis = x.axis("split", axis)
	n, sum := x.Shape()[axis], 0
	if len(sizes) == 1 && sizes[0] > 0 {
		size := sizes[0]
		for sizes = nil; sum < n || sizes == nil; sum += size {
			sizes = append(sizes, min(size, n-sum))
		}
		return x.sections(axis, sizes)
	}
	for _, size := range sizes {
		if sum += size; size < 0 || sum > n {
			break
		}
	}
	if sum != n || slices.ContainsFunc(sizes, func(size int) bool { return size < 0 }) || len(sizes) == 0 {
		fail("split", ErrShape, "sizes %v of an axis of %d; want their sum to be its size", sizes, n)
	}
	return x.sections(axis, sizes)
}

// Chunk returns x cut along axis into at most n parts of one size, the last of which may be smaller: PyTorch's chunk.
func (x *Tensor) Chunk(axis, n int) []*Tensor {
	if n < 1 {
		fail("chunk", ErrShape, "into %d parts", n)
	}
	size := x.Shape()[x.axis("chunk", axis)]
	return x.Split(axis, max(1, (size+n-1)/n))
}

// Unbind returns the elements of x along axis, without that axis.
func (x *Tensor) Unbind(axis int) []*Tensor {
	axis = x.axis("unbind", axis)
	vs := make([]views.View, x.Shape()[axis])
	for i := range vs {
		var err error
		vs[i], err = x.array.Select(axis, i)
		check("unbind", err)
	}
	if len(vs) == 0 {
		return nil
	}
	return viewAll(unbind{axis: axis}, x, vs...)
}

// sections returns parts of an axis whose sizes add up to its own.
func (x *Tensor) sections(axis int, sizes []int) []*Tensor {
	vs, start := make([]views.View, len(sizes)), 0
	for i, size := range sizes {
		vs[i] = x.array.Narrow(axis, start, start+size)
		start += size
	}
	return viewAll(split{axis: axis}, x, vs...)
}

type split struct {
	viewOp
	axis int
}

func (split) Name() string { return "split" }

func (split) origins(from, _ views.View) []int { return sameAxes(from.Rank()) }

func (op split) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{Cat(op.axis, withZeros(out, grads)...)}
}

type unbind struct {
	viewOp
	axis int
}

func (unbind) Name() string { return "unbind" }

func (op unbind) origins(from, _ views.View) []int {
	return slices.Delete(sameAxes(from.Rank()), op.axis, op.axis+1)
}

func (op unbind) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{Stack(op.axis, withZeros(out, grads)...)}
}

// withZeros returns grads with zeros in the place of those that are nil.
func withZeros(out, grads []*Tensor) []*Tensor {
	all := slices.Clone(grads)
	for i, g := range all {
		if g == nil {
			all[i] = out[i].constant(0)
		}
	}
	return all
}

var (
	_ = samples.Register("split", unary(func(x *Tensor) *Tensor {
		parts := x.Split(1, 2)
		return Cat(1, parts[2], parts[0].Mul(parts[1]))
	}), samples.In(2, 5).Rows())
	_ = samples.Register("split sizes", unary(func(x *Tensor) *Tensor { return x.Split(-1, 1, 3, 0, 1)[1] }), samples.In(2, 5).Rows())
	_ = samples.Register("chunk", unary(func(x *Tensor) *Tensor { return x.Chunk(1, 3)[1] }), samples.In(2, 7).Rows())
	_ = samples.Register("unbind", unary(func(x *Tensor) *Tensor {
		rows := x.Unbind(1)
		return rows[0].Mul(rows[2])
	}), samples.In(2, 3, 2).Rows())
)
