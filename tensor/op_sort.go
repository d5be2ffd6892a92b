package tensor

import (
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Sort returns the elements of x in ascending or descending order along axis, and the int64 indices along it where they
// are in x. Equal elements keep their order; NaN is the largest element.
func (x *Tensor) Sort(axis int, descending bool) (values, index *Tensor) {
	axis = x.axis("sort", axis)
	return x.sorted("sort", axis, x.Shape()[axis], descending)
}

// ArgSort returns the indices of [Tensor.Sort].
func (x *Tensor) ArgSort(axis int, descending bool) *Tensor {
	_, index := x.Sort(axis, descending)
	return index
}

// TopK returns the k largest or smallest elements along axis, the largest or the smallest first, and their indices as of [Tensor.Sort].
func (x *Tensor) TopK(k, axis int, largest bool) (values, index *Tensor) {
	axis = x.axis("topk", axis)
	if k < 0 || k > x.Shape()[axis] {
		fail("topk", ErrShape, "%d elements of axis %d of %v", k, axis, x.Shape())
	}
	return x.sorted("topk", axis, k, largest)
}

// KthValue returns the k-th smallest element along axis, from 1 on, and its index as of [Tensor.Sort]; the axis is dropped.
func (x *Tensor) KthValue(k, axis int) (values, index *Tensor) {
	axis = x.axis("kthvalue", axis)
	if k < 1 || k > x.Shape()[axis] {
		fail("kthvalue", ErrShape, "element %d of axis %d of %v; want 1 or more", k, axis, x.Shape())
	}
	values, index = x.sorted("kthvalue", axis, k, false)
	return values.Select(axis, k-1), index.Select(axis, k-1)
}

func (x *Tensor) sorted(name string, axis, k int, descending bool) (values, index *Tensor) {
	out := ApplyAll(sorting{name, axis, k, descending}, x)
	return out[0], out[1]
}

// sorting is the first k elements along axis and their indices.
type sorting struct {
	name       string
	axis, k    int
	descending bool
}

func (op sorting) Name() string { return op.name }

func (op sorting) Infer(in []Spec) []Spec {
	if t := in[0].Type; t.IsComplex() {
		fail(op.name, ErrType, "%v has no order", t)
	}
	shape := slices.Clone(in[0].Shape)
	shape[op.axis] = op.k
	return []Spec{{Type: in[0].Type, View: views.Of(shape...)}, {Type: dtype.Int64, View: views.Of(shape...)}}
}

func (op sorting) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.Sort, kernels.SortOptions{Axis: op.axis, Descending: op.descending}, out, in...)
}

func (sorting) reads([]*Tensor) (operands uint64, results bool) { return 0, true }

func (op sorting) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{in[0].zeros(views.Of(in[0].Shape()...)).ScatterAdd(op.axis, out[1], grads[0])}
}

// Median returns the lower of the middle elements along axes, or of all if none are named; NaN if one is NaN. See [KeepDims]. NumPy's
// median is the mean of both middle elements: Quantile(0.5).
func (x *Tensor) Median(axes ...int) *Tensor {
	return x.ordered("median", axes, func(sorted *Tensor, n int) *Tensor { return sorted.Select(-1, (n-1)/2) })
}

// Quantile returns the element of floats x that a fraction q of the elements along axes, or of all if none are named, is not
// above, interpolated linearly between neighbours; NaN if one is NaN. See [KeepDims].
func (x *Tensor) Quantile(q float64, axes ...int) *Tensor {
	if !(q >= 0 && q <= 1) {
		fail("quantile", ErrShape, "of %v; want 0 to 1", q)
	}
	x.wantFloats("quantile")
	return x.ordered("quantile", axes, func(sorted *Tensor, n int) *Tensor {
		whole, part := math.Modf(q * float64(n-1))
		low := sorted.Select(-1, int(whole))
		if part == 0 {
			return low
		}
		return low.Add(sorted.Select(-1, int(whole)+1).Sub(low).MulScalar(part))
	})
}

// ordered applies f to the n sorted elements along axes, and returns NaN where one is NaN.
func (x *Tensor) ordered(op string, axes []int, f func(sorted *Tensor, n int) *Tensor) *Tensor {
	lines, finish := x.joined(op, axes)
	n := lines.Shape()[lines.Rank()-1]
	if n == 0 {
		fail(op, ErrShape, "of no elements along axes of %v", x.Shape())
	}
	sorted, _ := lines.sorted(op, lines.Rank()-1, n, false)
	y := f(sorted, n)
	if x.DType().IsFloat() {
		last := sorted.Select(-1, n-1)
		y = Where(last.Detach().Eq(last.Detach()), y, last)
	}
	return finish(y)
}

// Unique returns the elements of x, each once, in ascending order; for each element of x, the index of its value; and how
// often each value is there. Each NaN is a value of its own.
func (x *Tensor) Unique() (values, inverse, counts *Tensor) {
	x = x.Detach()
	flat := x.Contiguous().Reshape(x.Len())
	sorted, index := flat.Sort(0, false)
	n := x.Len()
	if n == 0 {
		return sorted, index.Reshape(x.Shape()...), index
	}
	first := Cat(0, index.Narrow(0, 0, 1).GeScalar(0), sorted.Narrow(0, 1, n-1).Ne(sorted.Narrow(0, 0, n-1)))
	values = sorted.MaskedSelect(first)
	rank := first.CumSum(0).AddScalar(-1)
	inverse = rank.Gather(0, index.ArgSort(0, false)).Reshape(x.Shape()...)
	return values, inverse, rank.BinCount(nil, values.Len())
}

func init() {
	values := func(v, _ *Tensor) *Tensor { return v }
	index := func(_, i *Tensor) *Tensor { return i }
	distinct := samples.In(3, 5, 2).Of(samples.Distinct)
	samples.RegisterHostOnly("sort", unary(func(x *Tensor) *Tensor { return values(x.Sort(1, false)) }), distinct.Rows())
	samples.RegisterHostOnly("sort descending", unary(func(x *Tensor) *Tensor { return values(x.Sort(1, true)) }), distinct.Rows())
	samples.RegisterHostOnly("argsort", unary(func(x *Tensor) *Tensor { return x.ArgSort(-1, false) }), samples.In(3, 5).Of(samples.Distinct).Rows())
	samples.RegisterHostOnly("topk", unary(func(x *Tensor) *Tensor { return values(x.TopK(2, 1, true)) }), distinct.Rows())
	samples.RegisterHostOnly("topk smallest", unary(func(x *Tensor) *Tensor { return values(x.TopK(2, 0, false)) }), distinct)
	samples.RegisterHostOnly("topk index", unary(func(x *Tensor) *Tensor { return index(x.TopK(2, 1, true)) }), distinct.Rows())
	samples.RegisterHostOnly("kthvalue", unary(func(x *Tensor) *Tensor { return values(x.KthValue(2, 1)) }), distinct.Rows())
	samples.RegisterHostOnly("median", unary(func(x *Tensor) *Tensor { return x.Median() }), samples.In(3, 4).Of(samples.Distinct))
	samples.RegisterHostOnly("median 1", unary(func(x *Tensor) *Tensor { return x.Median(1, KeepDims) }), distinct.Rows())
	samples.RegisterHostOnly("quantile", unary(func(x *Tensor) *Tensor { return x.Quantile(0.3, 1, 2) }), distinct.Rows())
	samples.RegisterHostOnly("unique", unary(func(x *Tensor) *Tensor { v, _, _ := x.Unique(); return v }), samples.In(7).Of(samples.Bools))
	samples.RegisterHostOnly("unique inverse", unary(func(x *Tensor) *Tensor { _, i, _ := x.Unique(); return i }), samples.In(7).Of(samples.Bools))
	samples.RegisterHostOnly("unique counts", unary(func(x *Tensor) *Tensor { _, _, n := x.Unique(); return n }), samples.In(7).Of(samples.Bools))
}
