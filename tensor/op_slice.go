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

// Index returns what a NumPy index expression selects, such as "1:3, ::2, None",
// sharing x's memory.
func (x *Tensor) Index(expr string) *Tensor {
	index, err := views.Parse(expr)
	check("index", err)
	return x.selectView(index.Of)
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
	part viewFunc
}

func (slice) Name() string { return "slice" }

// Backward puts dy where its elements were selected from, among zeros.
func (op slice) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{Apply(unslice{views.Like(in[0].array.View), op.part}, grads[0])}
}

// unslice places its operand where part selects elements from, among zeros.
type unslice struct {
	whole views.View
	part  viewFunc
}

func (unslice) Name() string { return "unslice" }

func (op unslice) Infer(in []Spec) []Spec { return one(in[0].Type, op.whole) }

func (op unslice) Forward(c *Context, out, in []storage.Array) error {
	if err := c.Run(kernels.Fill, kernels.FillOptions{}, out); err != nil {
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
	_ = samples.Register("index", unary(func(x *Tensor) *Tensor { return x.Index("1:, None, ::-1, -1") }), samples.In(3, 2, 4).Rows())
)
