package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// LinearGradW is the gradient of Linear without an activation with respect to w and b: Out dw = dyᵀ·x (out,in) and
// db (out), the sum of dy over its rows; In x (N,in) and dy (N,out). Its results equal MatMul's and Sum's.
var LinearGradW = define("linear grad w", checkLinearGradW,
	func(c *Call, _ struct{}) error {
		product, sum := c.linearGrads()
		if err := MatMul.Reference(product); err != nil {
			return err
		}
		return Sum.Reference(sum)
	},
	func(c *Call, _ struct{}) (bool, error) {
		product, sum := c.linearGrads()
		if err := CPU.Run(MatMul, product); err != nil {
			return true, err
		}
		return true, CPU.Run(Sum, sum)
	})

func checkLinearGradW(c *Call, _ struct{}) error {
	if err := c.real(2, 2); err != nil {
		return err
	}
	dw, db, x, dy := &c.Out[0], &c.Out[1], &c.In[0], &c.In[1]
	if x.Rank() != 2 || dy.Rank() != 2 || dw.Rank() != 2 || x.Shape[0] != dy.Shape[0] || dw.Shape[0] != dy.Shape[1] || dw.Shape[1] != x.Shape[1] {
		return fmt.Errorf("x %v and dy %v do not make dw %v; want (N,in), (N,out), (out,in): %w", x.Shape, dy.Shape, dw.Shape, views.ErrShape)
	}
	if db.Rank() != 1 || db.Shape[0] != dy.Shape[1] {
		return fmt.Errorf("db is %v; want [%d]: %w", db.Shape, dy.Shape[1], views.ErrShape)
	}
	return nil
}

// LinearGradXOptions are the options of LinearGradX.
type LinearGradXOptions struct {
	Act  Activation
	Mask *ReLUMask // that Linear wrote for x, read if Act is ReLUActivation; nil for none
}

// LinearGradX is the gradient of Linear without an activation with respect to z, where x = act(z): Out dz (N,in),
// which is dy·w·act'(z); In dy (N,out), w (out,in), and x, or z if the activation is OfInput. Its options are
// LinearGradXOptions. Its result equals MatMul's and ActGrad's.
var LinearGradX = define("linear grad x", checkLinearGradX,
	func(c *Call, options LinearGradXOptions) error {
		product, act := c.linearGradX(options)
		if err := MatMul.Reference(product); err != nil {
			return err
		}
		return ActGrad.Reference(act)
	},
	func(c *Call, options LinearGradXOptions) (bool, error) {
		product, act := c.linearGradX(options)
		if err := CPU.Run(MatMul, product); err != nil {
			return true, err
		}
		return true, CPU.Run(ActGrad, act)
	})

func checkLinearGradX(c *Call, options LinearGradXOptions) error {
	if err := c.real(1, 3); err != nil {
		return err
	}
	if err := options.Act.check(); err != nil {
		return err
	}
	dz, dy, w, v := &c.Out[0], &c.In[0], &c.In[1], &c.In[2]
	if dy.Rank() != 2 || w.Rank() != 2 || dz.Rank() != 2 || dy.Shape[1] != w.Shape[0] || dz.Shape[0] != dy.Shape[0] || dz.Shape[1] != w.Shape[1] {
		return fmt.Errorf("dy %v and w %v do not make dz %v; want (N,out), (out,in), (N,in): %w", dy.Shape, w.Shape, dz.Shape, views.ErrShape)
	}
	if err := oneShape(*dz, *v); err != nil {
		return err
	}
	return options.Mask.check(c, dz)
}

// linearGradX returns the calls of MatMul and ActGrad for the gradient of x.
func (c *Call) linearGradX(options LinearGradXOptions) (product, act *Call) {
	return &Call{Out: c.Out, In: c.In[:2], BF16: c.BF16}, &Call{Out: c.Out, In: []storage.Array{c.In[2], c.Out[0]}, Options: ActOptions{Act: options.Act}}
}

// linearGrads returns the calls of MatMul and Sum for the gradients of w and b.
func (c *Call) linearGrads() (product, sum *Call) {
	dy, db := &c.In[1], &c.Out[1]
	dyT := dy.With(views.View{Offset: dy.Offset, Shape: []int{dy.Shape[1], dy.Shape[0]}, Stride: []int{dy.Stride[1], dy.Stride[0]}})
	row := db.With(views.View{Offset: db.Offset, Shape: []int{1, db.Shape[0]}, Stride: []int{0, db.Stride[0]}})
	return &Call{Out: c.Out[:1], In: []storage.Array{dyT, c.In[0]}, BF16: c.BF16}, &Call{Out: []storage.Array{row}, In: c.In[1:]}
}
