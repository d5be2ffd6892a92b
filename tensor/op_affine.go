package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Scale returns s·x. The number never changes x's type.
func (x *Tensor) Scale(s float64) *Tensor { return Apply(affine{s, 0}, x) }

// scaled is Scale of a gradient, which nobody writes to: x itself will do for 1·x.
func (x *Tensor) scaled(s float64) *Tensor {
	if s == 1 {
		return x
	}
	return x.Scale(s)
}

// Shift returns x + s. The number never changes x's type.
func (x *Tensor) Shift(s float64) *Tensor { return Apply(affine{1, s}, x) }

// affine is scale·x + shift.
type affine struct{ scale, shift float64 }

func (affine) Name() string { return "affine" }

func (op affine) Infer(in ...*Tensor) (dtype.Type, views.View) {
	wantFloat(op.Name(), in[0])
	return in[0].Type, views.Like(in[0].View)
}

func (op affine) Forward(w *Work, y storage.Array, in ...storage.Array) error {
	return w.Run(kernels.Affine, kernels.AffineSet{Scale: op.scale, Shift: op.shift}, []storage.Array{y}, in...)
}

func (op affine) Backward(_, dy *Tensor, _ ...*Tensor) []*Tensor {
	return []*Tensor{dy.scaled(op.scale)}
}

var (
	_ = Register("scale", func(in ...*Tensor) *Tensor { return in[0].Scale(-1.5) }, In(3, 4).Rows())
	_ = Register("shift", func(in ...*Tensor) *Tensor { return in[0].Shift(2) }, In(3, 4).Rows())
)
