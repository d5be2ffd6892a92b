package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// SearchSorted returns where values belong in the ascending lines of sorted along its last axis: the int64 number of elements that are
// less than a value or, with right, not greater. sorted has that axis alone, or the leading axes of values. NaN is the
// largest element.
func SearchSorted(sorted, values *Tensor, right bool) *Tensor {
	sorted, values = promoted("searchsorted", sorted.Detach(), values.Detach())
	if values.Rank() == 0 {
		return Apply(searchSorted{right}, sorted, values.Unsqueeze(0)).Squeeze(0)
	}
	return Apply(searchSorted{right}, sorted, values)
}

// Bucketize returns the index of the bucket between ascending boundaries that each element of x is in: [SearchSorted].
func (x *Tensor) Bucketize(boundaries *Tensor, right bool) *Tensor {
	return SearchSorted(boundaries, x, right)
}

type searchSorted struct{ right bool }

func (searchSorted) Name() string { return "searchsorted" }

func (searchSorted) Infer(in []Spec) []Spec { return one(dtype.Int64, views.Of(in[1].Shape...)) }

func (op searchSorted) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.SearchSorted, kernels.SearchSortedOptions{Right: op.right}, out, in...)
}

func (searchSorted) Backward(out, grads, in []*Tensor) []*Tensor { return []*Tensor{nil, nil} }

// BinCount returns how many elements of x, integers from 0 on, are 0, 1, …, at least minLength numbers, as int64; or the sums of their
// weights, unless those are nil, as float32 if they are, else float64.
func (x *Tensor) BinCount(weights *Tensor, minLength int) *Tensor {
	if !x.DType().IsInt() && x.DType() != dtype.Bool {
		fail("bincount", ErrType, "of %v; want integers", x.DType())
	}
	if x.IsMeta() {
		fail("bincount", ErrState, "the shape of its result depends on values, which meta tensors do not have")
	}
	x = x.Cast(dtype.Int64)
	n := max(minLength, 0)
	if x.Len() > 0 {
		n = max(n, int(Values[int64](x.Max())[0])+1)
	}
	if weights == nil {
		return Apply(binCount{n}, x)
	}
	if weights = weights.Detach(); weights.DType() != dtype.Float32 {
		weights = weights.Cast(dtype.Float64)
	}
	return Apply(binCount{n}, x, weights)
}

type binCount struct{ n int }

func (binCount) Name() string { return "bincount" }

func (op binCount) Infer(in []Spec) []Spec {
	t := dtype.Int64
	if len(in) > 1 {
		t = in[1].Type
	}
	return one(t, views.Of(op.n))
}

func (binCount) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.BinCount, nil, out, in...)
}

func (binCount) Backward(out, grads, in []*Tensor) []*Tensor { return make([]*Tensor, len(in)) }

// Histogram returns how many elements of x, as int64, are in each of n equally wide bins from low to high; the last bin
// includes high; and the n + 1 edges of the bins, as floats. Elements outside, and NaN, are not counted. If low and high are equal, they
// are the smallest and the largest element. Counts are integers as NumPy's; PyTorch's are floats.
func (x *Tensor) Histogram(n int, low, high float64) (counts, edges *Tensor) {
	if n < 1 || low > high {
		fail("histogram", ErrShape, "%d bins from %v to %v; want at least 1, in ascending order", n, low, high)
	}
	x = x.Detach().floating()
	if low == high && x.Len() > 0 {
		low, high = x.Min().Item(), x.Max().Item()
	}
	if low == high {
		low, high = low-0.5, high+0.5
	}
	edges = Linspace(x.DType(), low, high, n+1).besides(x)
	bin := SearchSorted(edges, x, true).AddScalar(-1)
	bin = Where(x.EqScalar(high), bin.AddScalar(-1), bin)
	inside := x.GeScalar(low).Mul(x.LeScalar(high))
	bin = Where(inside, bin, bin.constant(float64(n)))
	return Apply(binCount{n + 1}, bin).Narrow(0, 0, n), edges
}

func init() {
	sorted := func(x *Tensor) *Tensor { v, _ := x.Sort(-1, false); return v }
	samples.RegisterHostOnly("searchsorted", func(in ...*Tensor) *Tensor { return SearchSorted(sorted(in[0]), in[1], false) }, samples.In(2, 5).Of(samples.Distinct), samples.In(2, 3))
	samples.RegisterHostOnly("bucketize", func(in ...*Tensor) *Tensor { return in[1].Bucketize(sorted(in[0]), true) }, samples.In(5).Of(samples.Distinct), samples.In(2, 3).Rows())
	samples.RegisterHostOnly("bincount", func(in ...*Tensor) *Tensor { return in[0].BinCount(nil, 5) }, samples.Classes(4, 7))
	samples.RegisterHostOnly("bincount weights", func(in ...*Tensor) *Tensor { return in[0].BinCount(in[1], 5) }, samples.Classes(4, 7), samples.Classes(9, 7))
	samples.RegisterHostOnly("histogram", func(in ...*Tensor) *Tensor { n, _ := in[0].Histogram(4, -1, 1); return n }, samples.In(3, 4))
}
