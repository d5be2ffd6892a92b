package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// An index of the functions in this file is a tensor of integers from 0 to the size of the axis less one; others are
// refused, as in PyTorch. On a GPU the error comes when results are next waited for.

// Gather returns y of the shape of index, with y[i, j] = x[index[i, j], j] for axis 0. Along the other axes index is as
// long as x, or shorter.
func (x *Tensor) Gather(axis int, index *Tensor) *Tensor {
	axis = x.axis("gather", axis)
	return Apply(gather{axis}, x, indexOf("gather", index))
}

// IndexSelect returns the elements of x at each index of an axis, for index (n): rows of a matrix, if axis is 0.
func (x *Tensor) IndexSelect(axis int, index *Tensor) *Tensor {
	axis = x.axis("index select", axis)
	shape := slices.Clone(x.Shape())
	shape[axis] = -1
	return Apply(gather{axis}, x, along("index select", axis, index, shape))
}

// TakeAlong is Gather of x and index broadcast together along the other axes: PyTorch's take_along_dim.
func (x *Tensor) TakeAlong(axis int, index *Tensor) *Tensor {
	x, index, axis = alignedIndex("take along", axis, x, index)
	return x.Gather(axis, index)
}

// Take returns the elements of x at the places in index, of its shape, that count elements in row-major order, from the
// end if negative.
func (x *Tensor) Take(index *Tensor) *Tensor {
	flat := wrapped(indexOf("take", index).Contiguous(), x.Len())
	return x.Flatten(0).Gather(0, flat.Reshape(-1)).Reshape(index.Shape()...)
}

// ScatterAdd returns a copy of x with src added where index says: y[index[i, j], j] += src[i, j] for axis 0. Src has the
// shape of index, or is broadcast to it. Elements of one index are added in their order, on every device: the result is
// the same each time.
func (x *Tensor) ScatterAdd(axis int, index, src *Tensor) *Tensor {
	return x.scatter("scatter add", kernels.ScatterAdd, axis, index, src)
}

// Scatter is ScatterAdd that replaces elements: of several with one index the last stays.
func (x *Tensor) Scatter(axis int, index, src *Tensor) *Tensor {
	return x.scatter("scatter", kernels.ScatterPut, axis, index, src)
}

// IndexAdd returns a copy of x with the elements of src along an axis added at index (n), in their order: rows of a
// matrix, if axis is 0. Src has the shape of x but for n along axis, or is broadcast to that.
func (x *Tensor) IndexAdd(axis int, index, src *Tensor) *Tensor {
	return x.scatterRows("index add", kernels.ScatterAdd, axis, index, src)
}

// IndexCopy is IndexAdd that replaces elements: of several with one index the last stays.
func (x *Tensor) IndexCopy(axis int, index, src *Tensor) *Tensor {
	return x.scatterRows("index copy", kernels.ScatterPut, axis, index, src)
}

// IndexFill returns a copy of x with value, a Go number, at each index (n) of an axis.
func (x *Tensor) IndexFill(axis int, index *Tensor, value any) *Tensor {
	return x.scatterRows("index fill", kernels.ScatterPut, axis, index, x.number("index fill", x.DType(), numberOf("index fill", value)).first())
}

// first returns the first element of x, without axes.
func (x *Tensor) first() *Tensor {
	return x.selectView(func(v views.View) (views.View, error) { return views.View{Offset: v.Offset}, nil })
}

func (x *Tensor) scatterRows(act string, join kernels.ScatterReduce, axis int, index, src *Tensor) *Tensor {
	axis = x.axis(act, axis)
	shape := slices.Clone(x.Shape())
	shape[axis] = -1
	return x.scatter(act, join, axis, along(act, axis, index, shape), src)
}

func (x *Tensor) scatter(act string, join kernels.ScatterReduce, axis int, index, src *Tensor) *Tensor {
	axis = x.axis(act, axis)
	checkGiven(act, src)
	index = indexOf(act, index)
	if src.DType() != x.DType() {
		fail(act, ErrType, "of %v into %v; Cast it first", src.DType(), x.DType())
	}
	if _, ok := src.array.Broadcast(index.Shape()...); !ok {
		fail(act, ErrShape, "of %v by an index of %v; want one shape", src.Shape(), index.Shape())
	}
	src = src.Expand(index.Shape()...)
	if join == kernels.ScatterAdd && x.DType().IsComplex() {
		return Complex(x.Real().scatter(act, join, axis, index, src.Real()), x.Imag().scatter(act, join, axis, index, src.Imag()))
	}
	if t := x.DType(); join != kernels.ScatterPut && (t == dtype.Float16 || t == dtype.BFloat16) { // sums of many are rounded once
		return Apply(scatter{act, axis, join}, x.Cast(dtype.Float32), src.Cast(dtype.Float32), index).Cast(t)
	}
	return Apply(scatter{act, axis, join}, x, src, index)
}

// indexOf returns index, which has integers, as int64.
func indexOf(act string, index *Tensor) *Tensor {
	if checkGiven(act, index); !index.DType().IsInt() {
		fail(act, ErrType, "index of %v; want integers", index.DType())
	}
	return index.Cast(dtype.Int64)
}

// along returns index (n), or a single one, repeated along the other axes of shape, whose size along axis it replaces.
func along(act string, axis int, index *Tensor, shape []int) *Tensor {
	index = indexOf(act, index)
	if index.Rank() > 1 {
		fail(act, ErrShape, "index of %v; want one axis", index.Shape())
	}
	column := slices.Repeat([]int{1}, len(shape))
	column[axis], shape[axis] = index.Len(), index.Len()
	return index.Reshape(column...).Expand(shape...)
}

// wrapped returns index with n added where it is negative.
func wrapped(index *Tensor, n int) *Tensor {
	return Where(index.LtScalar(0), index.AddScalar(n), index)
}

// alignedIndex returns x and index broadcast together along all axes but one.
func alignedIndex(act string, axis int, x, index *Tensor) (*Tensor, *Tensor, int) {
	axis, index = x.axis(act, axis), indexOf(act, index)
	if index.Rank() != x.Rank() {
		fail(act, ErrShape, "index of %v for %v; want as many axes", index.Shape(), x.Shape())
	}
	a, b := slices.Clone(x.Shape()), slices.Clone(index.Shape())
	a[axis], b[axis] = 1, 1
	common, ok := views.BroadcastShape(a, b)
	if !ok {
		fail(act, ErrShape, "index of %v for %v; they do not broadcast together", index.Shape(), x.Shape())
	}
	at := func(n int) []int {
		shape := slices.Clone(common)
		shape[axis] = n
		return shape
	}
	return x.Expand(at(x.Shape()[axis])...), index.Expand(at(index.Shape()[axis])...), axis
}

type gather struct{ axis int }

func (gather) Name() string { return "gather" }

func (op gather) Infer(in []Spec) []Spec {
	checkIndexShape("gather", op.axis, in[0], in[1])
	return one(in[0].Type, views.Of(in[1].Shape...))
}

// checkIndexShape fails unless an index has the axes of x, and no other than axis longer.
func checkIndexShape(act string, axis int, x, index Spec) {
	fits := x.Rank() == index.Rank()
	for k := 0; fits && k < x.Rank(); k++ {
		fits = k == axis || index.Shape[k] <= x.Shape[k]
	}
	if !fits {
		fail(act, ErrShape, "index of %v along axis %d of %v; want as many axes, the others no longer", index.Shape, axis, x.Shape)
	}
}

func (op gather) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.Gather, kernels.GatherOptions{Axis: op.axis}, out, indexedPart(in[0], op.axis, in[1].Shape), in[1])
}

// indexedPart returns the elements of x that an index of that shape can reach.
func indexedPart(x storage.Array, axis int, shape []int) storage.Array {
	for k, n := range shape {
		if k != axis && n < x.Shape[k] {
			x.View = x.View.Narrow(k, 0, n)
		}
	}
	return x
}

func (op gather) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{in[0].constant(0).ScatterAdd(op.axis, in[1], grads[0]), nil}
}

// scatter changes the first operand at an index, the third, to the second, or by it.
type scatter struct {
	name string
	axis int
	join kernels.ScatterReduce
}

func (op scatter) Name() string { return op.name }

func (op scatter) Infer(in []Spec) []Spec {
	checkIndexShape(op.name, op.axis, in[0], in[2])
	return one(in[0].Type, views.Of(in[0].Shape...))
}

func (op scatter) Forward(c *Context, out, in []storage.Array) error {
	if err := c.Run(kernels.Copy, nil, out, in[0]); err != nil {
		return err
	}
	part := indexedPart(out[0], op.axis, in[2].Shape)
	return c.Run(kernels.Scatter, kernels.ScatterOptions{Axis: op.axis, Reduce: op.join}, []storage.Array{part}, in[1], in[2])
}

func (op scatter) Backward(out, grads, in []*Tensor) []*Tensor {
	dy, index := grads[0], in[2]
	switch op.join {
	case kernels.ScatterAdd:
		return []*Tensor{dy, in[1].ifNeeded(func() *Tensor { return dy.Gather(op.axis, index) }), nil}
	case kernels.ScatterMul:
		dx, dsrc := scatterMulGrad(op.axis, in[0], in[1], index, dy)
		return []*Tensor{dx, dsrc, nil}
	case kernels.ScatterMax, kernels.ScatterMin:
		dx, dsrc := scatterExtremeGrad(op.axis, in[0], in[1], index, out[0], dy)
		return []*Tensor{dx, dsrc, nil}
	}
	return []*Tensor{
		in[0].ifNeeded(func() *Tensor { return dy.Scatter(op.axis, index, dy.constant(0).first()) }),
		in[1].ifNeeded(func() *Tensor {
			// Only the last element of each index reaches the result.
			order := dy.onDevice(arange(index.Shape()[op.axis]))
			order = along("scatter", op.axis, order, slices.Clone(index.Shape()))
			last := order.zeros(in[0].array.View).Scatter(op.axis, index, order).Gather(op.axis, index)
			return Where(last.Eq(order), dy.Gather(op.axis, index), dy.constant(0).first())
		}),
		nil,
	}
}

// arange returns 0, 1, …, n-1.
func arange(n int) storage.Array {
	elems := make([]int64, n)
	for i := range elems {
		elems[i] = int64(i)
	}
	return storage.From(elems, n)
}

// places returns n integers, of 0 to count-1, for samples.
func places(shape []int, count int) samples.Input {
	return samples.Input{Shape: shape, Kind: samples.Labels, Count: count}
}

var (
	_ = samples.Register("gather", func(in ...*Tensor) *Tensor { return in[0].Gather(1, in[1]) }, samples.In(3, 4), places([]int{2, 6}, 4))
	_ = samples.Register("gather", func(in ...*Tensor) *Tensor { return in[0].Gather(1, in[1]) }, samples.In(2, 5, 3).Rows(), places([]int{2, 4, 3}, 5).Rows())
	_ = samples.Register("index select", func(in ...*Tensor) *Tensor { return in[0].IndexSelect(-1, in[1]) }, samples.In(3, 4).Rows(), samples.Classes(4, 6))
	_ = samples.Register("index select 0", func(in ...*Tensor) *Tensor { return in[0].IndexSelect(0, in[1]) }, samples.In(5, 4), samples.Classes(5, 6).Rows())
	_ = samples.Register("take along", func(in ...*Tensor) *Tensor { return in[0].TakeAlong(1, in[1]) }, samples.In(3, 4, 2), places([]int{1, 5, 2}, 4))
	_ = samples.Register("take", func(in ...*Tensor) *Tensor { return in[0].Take(in[1]) }, samples.In(3, 4), places([]int{2, 5}, 12))
	_ = samples.Register("scatter add", func(in ...*Tensor) *Tensor { return in[0].ScatterAdd(1, in[1], in[2]) }, samples.In(2, 3, 4).Rows(), places([]int{2, 6, 4}, 3).Rows(), samples.In(2, 6, 4).Rows())
	_ = samples.Register("scatter", func(in ...*Tensor) *Tensor { return in[0].Scatter(0, in[1], in[2]) }, samples.In(3, 4), places([]int{5, 4}, 3), samples.In(5, 4))
	_ = samples.Register("index add", func(in ...*Tensor) *Tensor { return in[0].IndexAdd(0, in[1], in[2]) }, samples.In(3, 4), samples.Classes(3, 6), samples.In(6, 4))
	_ = samples.Register("index add 1", func(in ...*Tensor) *Tensor { return in[0].IndexAdd(1, in[1], in[2]) }, samples.In(3, 4).Rows(), samples.Classes(4, 6), samples.In(3, 6).Rows())
	_ = samples.Register("index copy", func(in ...*Tensor) *Tensor { return in[0].IndexCopy(1, in[1], in[2]) }, samples.In(4, 3).Rows(), samples.Classes(3, 5), samples.In(4, 5).Rows())
	_ = samples.Register("index fill", func(in ...*Tensor) *Tensor { return in[0].IndexFill(1, in[1], 2.5) }, samples.In(4, 5).Rows(), samples.Classes(5, 2))
)
