package onnxgraph

import (
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

var (
	_ = add(rule{op: "MaxPool", since: 1, run: maxPool})
	_ = simple("AveragePool", 1, averagePool)
	_ = simple("GlobalAveragePool", 1, func(c *call) *tensor.Tensor {
		x := c.x(0)
		return x.Mean(append(rest(2, x.Rank()), tensor.KeepDims)...)
	})
	_ = simple("GlobalMaxPool", 1, func(c *call) *tensor.Tensor {
		x := c.x(0)
		return x.AMax(append(rest(2, x.Rank()), tensor.KeepDims)...)
	})
	_ = simple("LpPool", 2, func(c *call) *tensor.Tensor {
		x, p := c.x(0), float64(c.integer("p", 2))
		w := c.window(x.Shape(), c.integers("kernel_shape"))
		w.complete(x.Shape()[2:], c.integer("ceil_mode", 0) == 1)
		return c.sums(x.Abs().PowScalar(p), w).PowScalar(1 / p)
	})
	_ = simple("GlobalLpPool", 2, func(c *call) *tensor.Tensor {
		x, p := c.x(0), float64(c.integer("p", 2))
		return x.Abs().PowScalar(p).Sum(append(rest(2, x.Rank()), tensor.KeepDims)...).PowScalar(1 / p)
	})
)

// isWide reports whether padding is more than half a window, which the kernels do not take.
func (w window) isWide() bool {
	for i, k := range w.kernel {
		if w.padding[i][0] > k/2 || w.padding[i][1] > k/2 {
			return true
		}
	}
	return false
}

// around pads the spatial axes of x with a value, as w says, and returns w without padding.
func (w window) around(x *tensor.Tensor, value float64) (*tensor.Tensor, window) {
	var sizes []int
	for i := len(w.kernel) - 1; i >= 0; i-- {
		sizes = append(sizes, w.padding[i][0], w.padding[i][1])
	}
	w.padding = [3][2]int{}
	return x.PadConstant(value, sizes...), w
}

func (c *call) poolOptions(w window) tensor.PoolOptions {
	return tensor.PoolOptions{
		Kernel: sizes3(w.kernel), Stride: sizes3(w.stride), Padding: w.padding, Ceil: c.integer("ceil_mode", 0) == 1,
	}
}

func maxPool(c *call) []*tensor.Tensor {
	x := c.x(0)
	w := c.window(x.Shape(), c.integers("kernel_shape"))
	t := x.DType()
	if !t.IsFloat() { // (u)int8, which float32 holds
		x = x.Cast(dtype.Float32)
	}
	if !c.outputs(1) {
		if w.isWide() {
			x, w = w.around(x, math.Inf(-1))
		}
		o := c.poolOptions(w)
		o.Dilation = sizes3(w.dilation)
		return one(x.MaxPool(o).Cast(t))
	}
	if c.integer("storage_order", 0) != 0 || w.isWide() {
		c.fail(storage.ErrState, "indices with storage_order 1, or with padding of more than half a window")
	}
	o := c.poolOptions(w)
	o.Dilation = sizes3(w.dilation)
	y, index := x.MaxPoolWithIndices(o)
	planes, plane := product(x.Shape()[:2]), product(x.Shape()[2:])
	first := c.elements(tensor.Arange(dtype.Int64, 0, float64(planes), 1)).MulScalar(plane)
	shape := repeat(1, x.Rank())
	copy(shape, x.Shape()[:2])
	return []*tensor.Tensor{y.Cast(t), index.Cast(dtype.Int64).Add(first.Reshape(shape...))}
}

func averagePool(c *call) *tensor.Tensor {
	x := c.x(0)
	return c.means(x, c.window(x.Shape(), c.integers("kernel_shape")), c.integer("count_include_pad", 0) == 0)
}

// means are the means of windows, of the elements without padding if exclude is set. Windows with gaps between their
// elements, or with much padding, are convolutions with ones.
func (c *call) means(x *tensor.Tensor, w window, exclude bool) *tensor.Tensor {
	o := c.poolOptions(w)
	o.ExcludePadding = exclude
	if !w.isWide() && !w.isDilated() {
		return x.AvgPool(o)
	}
	shape := append([]int{1, 1}, x.Shape()[2:]...)
	ones := c.elements(tensor.Ones(x.DType(), shape...))
	if !exclude { // padding counts, but not the end of a last window that is not complete
		ones, _ = w.around(ones, 1)
	}
	w.complete(x.Shape()[2:], o.Ceil)
	counted := w
	if !exclude {
		for i, p := range o.Padding {
			counted.padding[i] = [2]int{0, w.padding[i][1] - p[1]}
		}
	}
	return c.sums(x, w).Div(c.sums(ones, counted))
}

func (w window) isDilated() bool {
	return slices.ContainsFunc(w.dilation, func(d int) bool { return d != 1 })
}

// complete adds padding for a last window that is not complete.
func (w *window) complete(sizes []int, ceil bool) {
	for i, size := range sizes {
		left := size + w.padding[i][0] + w.padding[i][1] - (w.kernel[i]-1)*w.dilation[i] - 1
		if over := left % w.stride[i]; ceil && left >= 0 && over > 0 {
			last := left - over + w.stride[i] // where the window begins, with the padding
			if last < size+w.padding[i][0] {
				w.padding[i][1] += w.stride[i] - over
			}
		}
	}
}

// sums are the sums of windows of each channel.
func (c *call) sums(x *tensor.Tensor, w window) *tensor.Tensor {
	ones := c.elements(tensor.Ones(x.DType(), append([]int{x.Size(1), 1}, w.kernel...)...))
	return tensor.Conv(x, ones, nil, tensor.ConvOptions{
		Stride: sizes3(w.stride), Dilation: sizes3(w.dilation), Padding: w.padding, Groups: x.Size(1),
	})
}
