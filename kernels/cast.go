package kernels

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// CastOptions are the options of Cast.
type CastOptions = ScaleOffsetOptions

// Cast is y = Scale·x + Offset, converted from any type to any other as dtype.Convert does;
// where Scale is 1 and Offset 0, exactly so. It turns the bytes of images into floats in
// one pass.
var Cast = updatesInPlace(define("cast",
	func(c *Call, options CastOptions) error {
		if err := c.checkOperands(1, 1); err != nil {
			return err
		}
		if x := c.In[0].Type; !options.identity() && computeTypeOf(x) == dtype.Invalid {
			return notDefined(x)
		}
		return c.oneShape()
	},
	func(c *Call, options CastOptions) error {
		options = options.withDefault()
		if options.identity() {
			convertElements(&c.Out[0], &c.In[0])
		} else if c.In[0].Type == dtype.Uint64 {
			referenceMap(func(x uint64) float64 { return float64(x)*options.Scale + options.Offset }, c.Out[0], c.In[0])
		} else {
			referenceMap(func(x float64) float64 { return x*options.Scale + options.Offset }, c.Out[0], c.In[0])
		}
		return nil
	},
	func(c *Call, options CastOptions) (bool, error) {
		y, x := &c.Out[0], &c.In[0]
		if options.identity() && x.Type == y.Type {
			return optimizedCopy(y, x), nil
		}
		options = options.withDefault()
		return nativeCast(y, x, options), nil
	}))

// nativeCast is Cast in C. It returns false for types and ranks that C does not take.
func nativeCast(y, x *storage.Array, options CastOptions) bool {
	var g native.Grid
	if !native.Castable(y.Type, x.Type) || !g.Over(&y.View, &x.View) {
		return false
	}
	if !g.Empty {
		native.Cast(y.Type, x.Type, &g, at(&g, 0, y), at(&g, 1, x), options.Scale, options.Offset)
	}
	return true
}

// identity reports whether o changes nothing.
func (o ScaleOffsetOptions) identity() bool { return o.withDefault() == ScaleOffsetOptions{Scale: 1} }

func convertElements(y, x *storage.Array) {
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
