package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Where returns x where cond holds and y elsewhere, broadcasting their shapes.
func Where(cond, x, y *Tensor) *Tensor {
	x, y = promoted("where", x, y)
	return Apply(where{}, cond, x, y)
}

type where struct{}

func (where) Name() string { return "where" }

func (where) Infer(in ...*Tensor) (dtype.Type, views.View) {
	if in[0].Type != dtype.Bool {
		fail("where", ErrType, "condition of %v; want bool", in[0].Type)
	}
	return in[1].Type, broadcastLayout("where", in[1], in[2], in[0])
}

func (where) Forward(w *Context, z storage.Array, in ...storage.Array) error {
	return w.Run(kernels.Where, nil, []storage.Array{z}, broadcastTo(in[0], z.Shape), broadcastTo(in[1], z.Shape), broadcastTo(in[2], z.Shape))
}

func (where) Backward(_, dz *Tensor, in ...*Tensor) []*Tensor {
	cond, zero := in[0], dz.constant(0)
	return []*Tensor{
		nil,
		in[1].ifNeeded(func() *Tensor { return Where(cond, dz, zero).sumTo(in[1].Shape) }),
		in[2].ifNeeded(func() *Tensor { return Where(cond, zero, dz).sumTo(in[2].Shape) }),
	}
}

var (
	_ = Register("where", func(in ...*Tensor) *Tensor { return Where(in[0], in[1], in[2]) }, In(2, 3).Of(Bools).Rows(), In(2, 3).Rows(), In(2, 3).Rows())
	_ = Register("where", func(in ...*Tensor) *Tensor { return Where(in[0], in[1], in[2]) }, In(3).Of(Bools), In(2, 1), In())
)
