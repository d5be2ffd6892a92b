package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// IndexBy returns the elements of x at tensors of indices: x.IndexBy(rows, nil, columns) is x[rows, :, columns] of NumPy
// and PyTorch. There is an index for each axis, from the first on; nil, and none for the last axes, selects all.
//
// Integers are broadcast together; negative ones count from the end. Their common axes take the place of the indexed
// axes if these are neighbours, and come first if not. A tensor of bools, of the sizes of one or more axes, stands for
// the indices along these axes at which it is true, for which IndexBy waits for the device.
func (x *Tensor) IndexBy(index ...*Tensor) *Tensor {
	s := x.selectedBy("index by", index)
	y := s.rows(x).IndexSelect(0, s.flat).Reshape(append(slices.Clone(s.common), s.rest...)...)
	return y.Permute(s.toResult()...)
}

// IndexPut returns a copy of x with values, broadcast to the shape of x.IndexBy(index...), at these places: of several
// at one place the last stays. To change x itself, [Tensor.InPlace] takes such a function.
func (x *Tensor) IndexPut(values *Tensor, index ...*Tensor) *Tensor {
	return x.put("index put", (*Tensor).IndexCopy, values, index)
}

// IndexPutAdd is IndexPut that adds values, all that are at one place: PyTorch's index_put with accumulate.
func (x *Tensor) IndexPutAdd(values *Tensor, index ...*Tensor) *Tensor {
	return x.put("index put add", (*Tensor).IndexAdd, values, index)
}

func (x *Tensor) put(act string, scatter func(x *Tensor, axis int, index, src *Tensor) *Tensor, values *Tensor, index []*Tensor) *Tensor {
	checkGiven(act, x, values)
	s := x.selectedBy(act, index)
	order := s.toResult()
	shape, back := append(slices.Clone(s.common), s.rest...), make([]int, len(order))
	expanded := make([]int, len(order))
	for k, axis := range order {
		back[axis], expanded[k] = k, shape[axis]
	}
	rows := values.Expand(expanded...).Permute(back...).Reshape(append([]int{s.flat.Len()}, s.rest...)...)
	y := scatter(s.rows(x), 0, s.flat, rows)
	order = append(slices.Clone(s.axes), s.others...)
	shape, back = make([]int, len(order)), make([]int, len(order))
	for k, axis := range order {
		shape[k], back[axis] = x.Shape()[axis], k
	}
	return y.Reshape(shape...).Permute(back...).Contiguous()
}

// A selection is what tensors of indices select: rows of a tensor whose indexed axes are joined into the first.
type selection struct {
	axes, others []int   // that are indexed, and that are not
	flat         *Tensor // the rows
	common, rest []int   // the shape of the index, and the sizes of others
}

func (x *Tensor) selectedBy(act string, index []*Tensor) selection {
	checkGiven(act, x)
	var s selection
	index = x.withoutMasks(act, index)
	for axis, size := range x.Shape() {
		if axis >= len(index) || index[axis] == nil {
			s.others, s.rest = append(s.others, axis), append(s.rest, size)
			continue
		}
		common, ok := views.BroadcastShape(s.common, index[axis].Shape())
		if !ok {
			fail(act, ErrShape, "indices of %v and %v; they do not broadcast together", s.common, index[axis].Shape())
		}
		s.axes, s.common = append(s.axes, axis), common
	}
	if len(s.axes) == 0 {
		fail(act, ErrShape, "no index; want a tensor for at least one axis")
	}
	step := 1
	for k := len(s.axes) - 1; k >= 0; k-- {
		size := x.Shape()[s.axes[k]]
		// A table of the products refuses indices outside of the axis, on every device.
		products := x.onDevice(arange(size)).MulScalar(step)
		at := wrapped(indexOf(act, index[s.axes[k]]), size).Expand(s.common...).Flatten()
		if at = products.IndexSelect(0, at); s.flat == nil {
			s.flat = at
		} else {
			s.flat = s.flat.Add(at)
		}
		step *= size
	}
	return s
}

// withoutMasks returns index with the indices that its tensors of bools stand for.
func (x *Tensor) withoutMasks(act string, index []*Tensor) []*Tensor {
	var all []*Tensor
	for _, at := range index {
		if at == nil || at.DType() != dtype.Bool {
			all = append(all, at)
			continue
		}
		if end := len(all) + at.Rank(); at.Rank() == 0 || end > x.Rank() || !slices.Equal(at.Shape(), x.Shape()[len(all):end]) {
			fail(act, ErrShape, "mask of %v from axis %d of %v; want their sizes", at.Shape(), len(all), x.Shape())
		}
		all = append(all, at.Nonzero().Unbind(1)...)
	}
	if len(all) > x.Rank() {
		fail(act, ErrShape, "indices of %d axes for %v", len(all), x.Shape())
	}
	return all
}

// rows returns x with its indexed axes joined into the first.
func (s selection) rows(x *Tensor) *Tensor {
	x = x.Permute(append(slices.Clone(s.axes), s.others...)...)
	return x.Flatten(0, len(s.axes)-1)
}

// toResult returns the order of axes in which the common axes are where the result has them; they come first before.
func (s selection) toResult() []int {
	order, first := sameAxes(len(s.common)+len(s.rest)), s.axes[0]
	if s.axes[len(s.axes)-1]-first != len(s.axes)-1 {
		return order
	}
	n := len(s.common)
	return slices.Concat(order[n:n+first], order[:n], order[n+first:])
}

var (
	_ = samples.Register("index by", func(in ...*Tensor) *Tensor { return in[0].IndexBy(in[1]) }, samples.In(4, 3), places([]int{2, 3}, 4))
	_ = samples.Register("index by two", func(in ...*Tensor) *Tensor { return in[0].IndexBy(nil, in[1], in[2]) }, samples.In(2, 4, 3, 2).Rows(), places([]int{5, 1}, 4), places([]int{2}, 3))
	_ = samples.Register("index by apart", func(in ...*Tensor) *Tensor { return in[0].IndexBy(in[1], nil, in[2].Cast(dtype.Int64).AddScalar(-3)) }, samples.In(2, 3, 4), places([]int{5}, 2), places([]int{5}, 3))
	_ = samples.Register("index by mask", func(in ...*Tensor) *Tensor { return in[0].IndexBy(in[1]) }, samples.In(3, 4, 2), samples.In(3, 4).Of(samples.Bools))
	_ = samples.Register("index put", func(in ...*Tensor) *Tensor { return in[0].IndexPut(in[2], nil, in[1]) }, samples.In(3, 4).Rows(), places([]int{5}, 4), samples.In(3, 5).Rows())
	_ = samples.Register("index put add", func(in ...*Tensor) *Tensor { return in[0].IndexPutAdd(in[3], in[1], nil, in[2]) }, samples.In(2, 3, 4), places([]int{5}, 2), places([]int{5}, 4), samples.In(5, 1))
)
