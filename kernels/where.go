package kernels

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// Where is z = x where cond holds and y elsewhere. Its inputs are cond, of
// bools, and x and y of z's type, which may be any.
var Where = updatesInPlace(define("where",
	func(c *Call, _ struct{}) error {
		if err := c.checkOperands(1, 3); err != nil {
			return err
		}
		if err := oneType(dtype.Bool, c.In[0]); err != nil {
			return err
		}
		if err := oneType(c.Out[0].Type, c.In[1:]...); err != nil {
			return err
		}
		return c.oneShape()
	},
	func(c *Call, _ struct{}) error {
		z, cond, x, y := c.Out[0], c.In[0], c.In[1], c.In[2]
		size := z.Type.Size()
		zs, cs := z.Data.(storage.Host).Bytes(), cond.Data.(storage.Host).Bytes()
		xs, ys := x.Data.(storage.Host).Bytes(), y.Data.(storage.Host).Bytes()
		blocks(func(at, step []int, n int) {
			for i := range n {
				from := ys[(at[3]+i*step[3])*size:]
				if cs[at[1]+i*step[1]] != 0 {
					from = xs[(at[2]+i*step[2])*size:]
				}
				copy(zs[(at[0]+i*step[0])*size:], from[:size])
			}
		}, z, cond, x, y)
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) {
		z, cond, x, y := &c.Out[0], &c.In[0], &c.In[1], &c.In[2]
		var g native.Grid
		if !g.Over(&z.View, &cond.View, &x.View, &y.View) {
			return false, nil
		}
		if !g.Empty {
			native.Where(z.Type.Size(), &g, at(&g, 0, z), at(&g, 1, cond), at(&g, 2, x), at(&g, 3, y))
		}
		return true, nil
	}))
