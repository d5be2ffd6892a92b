package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Slice returns the elements start, start+step, … before stop along axis,
// sharing x's memory.
func (x *Tensor) Slice(axis, start, stop, step int) *Tensor {
	axis = x.axis("slice", axis)
	return x.selectView(func(v views.View) (views.View, error) { return v.Slice(axis, start, stop, step) })
}

// Select returns the elements at index i of an axis, counted from the end if negative,
// without that axis, sharing x's memory.
func (x *Tensor) Select(axis, i int) *Tensor {
	axis = x.axis("select", axis)
	return x.selectView(func(v views.View) (views.View, error) { return v.Select(axis, i) })
}

// Narrow returns length elements from start on along an axis, sharing x's memory.
func (x *Tensor) Narrow(axis, start, length int) *Tensor {
	axis = x.axis("narrow", axis)
	if size := x.Shape()[axis]; start < 0 || length < 0 || start > size-length {
		fail("narrow", ErrShape, "%d elements from %d of an axis of %d", length, start, size)
	}
	return x.Slice(axis, start, start+length, 1)
}

// Diagonal returns the elements whose index along axis b is that along axis a plus offset,
// sharing x's memory; the diagonal is the last axis, in place of a and b.
func (x *Tensor) Diagonal(offset, a, b int) *Tensor {
	a, b = x.axis("diagonal", a), x.axis("diagonal", b)
	return x.selectView(func(v views.View) (views.View, error) { return v.Diagonal(a, b, offset) })
}

// Flip returns x with the order of the elements along axes reversed, sharing x's memory.
func (x *Tensor) Flip(axes ...int) *Tensor {
	v, err := x.array.Flip(axes...)
	check("flip", err)
	return view(flip{axes: axes}, x, v)
}

type flip struct {
	viewOp
	axes []int
}

func (flip) Name() string { return "flip" }

func (op flip) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{grads[0].Flip(op.axes...)}
}

// Index returns what a NumPy index expression selects, such as "1:3, ::2, None",
// sharing x's memory. With lists, as in "[[3, 1], :]", it is a copy, by NumPy's rules; of a tensor over a file, one that is
// read when it is used. See [Tensor.IndexBy] for tensors of indices.
func (x *Tensor) Index(expr string) *Tensor {
	index, err := views.Parse(expr)
	check("index", err)
	s, err := index.Select(views.Of(x.Shape()...), nil)
	check("index", err)
	if s.Offsets != nil {
		return x.listed(expr, s)
	}
	v, err := index.Of(x.array.View)
	check("index", err)
	return view(slice{part: index.Of, index: index}, x, v)
}

// listed returns the elements at the offsets of s, a selection from row-major elements of x's shape.
func (x *Tensor) listed(expr string, s views.Selection) *Tensor {
	if x.IsLazy() && x.format == nil {
		a, err := x.array.Index(expr)
		check("index", err)
		return FromArray(a)
	}
	places := make([]int64, 0, len(s.Offsets)*s.View.Len())
	for _, offset := range s.Offsets {
		for at := range s.View.Positions() {
			places = append(places, int64(offset+at))
		}
	}
	y := x.Take(x.onDevice(storage.From(places, append([]int{len(s.Offsets)}, s.View.Shape...)...)))
	return y.MoveAxis(0, s.Axis).Contiguous()
}

func (x *Tensor) selectView(part viewFunc) *Tensor {
	v, err := part(x.array.View)
	check("slice", err)
	return view(slice{part: part}, x, v)
}

// A viewFunc selects elements of a view.
type viewFunc func(views.View) (views.View, error)

type slice struct {
	viewOp
	part  viewFunc
	index views.Index // which part is, if it is an index expression
}

func (slice) Name() string { return "slice" }

// Backward puts dy where its elements were selected from, among zeros.
func (op slice) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{Apply(unslice{views.Like(in[0].array.View), op.part, 0}, grads[0])}
}

// unslice places its operand where part selects elements from, among elements of one value.
type unslice struct {
	whole views.View
	part  viewFunc
	value float64
}

func (unslice) Name() string { return "unslice" }

func (op unslice) Infer(in []Spec) []Spec { return one(in[0].Type, op.whole) }

func (op unslice) Forward(c *Context, out, in []storage.Array) error {
	if err := c.Run(kernels.Fill, kernels.FillOptions{Value: op.value}, out); err != nil {
		return err
	}
	v, err := op.part(out[0].View)
	if err != nil {
		return err
	}
	return c.Run(kernels.Copy, nil, []storage.Array{out[0].With(v)}, in...)
}

func (op unslice) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{grads[0].selectView(op.part)}
}

var (
	_ = samples.Register("slice", unary(func(x *Tensor) *Tensor { return x.Slice(1, 1, 4, 2) }), samples.In(2, 4).Rows())
	_ = samples.Register("select", unary(func(x *Tensor) *Tensor { return x.Select(-1, 2) }), samples.In(2, 4).Rows())
	_ = samples.Register("narrow", unary(func(x *Tensor) *Tensor { return x.Narrow(1, 1, 2) }), samples.In(2, 4).Rows())
	_ = samples.Register("diagonal", unary(func(x *Tensor) *Tensor { return x.Diagonal(1, 0, 2) }), samples.In(3, 2, 4))
	_ = samples.Register("flip", unary(func(x *Tensor) *Tensor { return x.Flip(0, -1) }), samples.In(3, 2, 4).Rows())
	_ = samples.Register("index list", unary(func(x *Tensor) *Tensor { return x.Index("[[2, 0, -1, 0], 1:]") }), samples.In(3, 4))
	_ = samples.Register("index lists", unary(func(x *Tensor) *Tensor { return x.Index("[::-1, [1, 0, 1], [2, 1, 0]]") }), samples.In(3, 2, 4).Rows())
	_ = samples.Register("index", unary(func(x *Tensor) *Tensor { return x.Index("1:, None, ::-1, -1") }), samples.In(3, 2, 4).Rows())
)
