package kernels

// #include "loops.h"
// #cgo noescape h5k_where
// #cgo nocallback h5k_where
import "C"

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// Where is z = x where cond holds and y elsewhere. Its inputs are cond, of
// bools, and x and y of z's type, whatever that is.
var Where = define("where",
	func(c *Call, _ struct{}) error {
		if err := c.holds(1, 3); err != nil {
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
		var g grid
		if !g.over(z, cond, x, y) {
			return false, nil
		}
		if !g.empty {
			C.h5k_where(C.int(z.Type.Size()), &g.C, g.at(0, z), g.at(1, cond), g.at(2, x), g.at(3, y))
		}
		return true, nil
	})
