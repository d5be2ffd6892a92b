package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
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
	v, err := part(x.View)
	check("slice", err)
	return view(slice{part: part}, x, v)
}

// A selection picks elements out of any view of one shape.
type viewFunc func(views.View) (views.View, error)

type slice struct {
	viewOp
	part viewFunc
}

func (slice) Name() string { return "slice" }

// Backward puts dy where its elements were selected from, among zeros.
func (op slice) Backward(_, dy *Tensor, in ...*Tensor) []*Tensor {
	dx := dy.zeros(in[0].View)
	v, err := op.part(dx.View)
	check("slice", err)
	run("slice", kernels.Copy, nil, []storage.Array{dx.With(v)}, dy.Array)
	return []*Tensor{dx}
}

var (
	_ = Register("slice", unary(func(x *Tensor) *Tensor { return x.Slice(1, 1, 4, 2) }), In(2, 4).Rows())
	_ = Register("index", unary(func(x *Tensor) *Tensor { return x.Index("1:, None, ::-1, -1") }), In(3, 2, 4).Rows())
)
