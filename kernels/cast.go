package kernels

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// CastSet is the settings of Cast. Without any, Scale is 1.
type CastSet struct{ Scale, Shift float64 }

// Cast is y = Scale·x + Shift, converted from any type to any other as
// dtype.Convert does; where Scale is 1 and Shift 0, exactly so. It turns the
// bytes of images into floats in one pass.
var Cast = define("cast",
	func(c *Call, set CastSet) error {
		if err := c.holds(1, 1); err != nil {
			return err
		}
		if x := c.In[0].Type; !identity(c, set) && wideOf(x) == dtype.Invalid {
			return notOf(x)
		}
		return c.oneShape()
	},
	func(c *Call, set CastSet) error {
		if identity(c, set) {
			plainConvert(&c.Out[0], &c.In[0])
		} else if c.In[0].Type == dtype.Uint64 {
			plainMap(func(x uint64) float64 { return float64(x)*set.Scale + set.Shift }, c.Out[0], c.In[0])
		} else {
			plainMap(func(x float64) float64 { return x*set.Scale + set.Shift }, c.Out[0], c.In[0])
		}
		return nil
	},
	func(c *Call, set CastSet) (bool, error) {
		y, x := &c.Out[0], &c.In[0]
		if identity(c, set) {
			if x.Type == y.Type {
				return fastCopy(y, x), nil
			}
			set.Scale, set.Shift = 1, 0
		}
		to, ok := native.RealOf(y.Type)
		var g native.Grid
		if !ok || !native.Castable(x.Type) || !g.Over(&y.View, &x.View) {
			return false, nil
		}
		if !g.Empty {
			native.Cast(to, x.Type, &g, at(&g, 0, y), at(&g, 1, x), set.Scale, set.Shift)
		}
		return true, nil
	})

// identity reports whether only the type changes.
func identity(c *Call, set CastSet) bool { return c.Set == nil || set == CastSet{1, 0} }

func plainConvert(y, x *storage.Array) {
	var from, to [block * 16]byte
	in, out := x.Type.Size(), y.Type.Size()
	xs, ys := x.Data.(storage.Host).Bytes(), y.Data.(storage.Host).Bytes()
	blocks(func(at, step []int, n int) {
		for i := range n {
			copy(from[i*in:(i+1)*in], xs[(at[1]+i*step[1])*in:])
		}
		must(dtype.Convert(to[:n*out], y.Type, from[:n*in], x.Type))
		for i := range n {
			copy(ys[(at[0]+i*step[0])*out:], to[i*out:(i+1)*out])
		}
	}, *y, *x)
}
