package kernels

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// Copy is y = x, for every element type, in any layouts. Transposes are copied in tiles, at the
// speed of memory.
var Copy = updatesInPlace(define("copy",
	func(c *Call, _ struct{}) error { return c.checkAlike(1, dtype.Invalid) },
	func(c *Call, _ struct{}) error {
		referenceCopy(&c.Out[0], &c.In[0])
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) { return optimizedCopy(&c.Out[0], &c.In[0]), nil }))

func referenceCopy(y, x *storage.Array) {
	size := x.Type.Size()
	to, from := y.Data.(storage.Host).Bytes(), x.Data.(storage.Host).Bytes()
	blocks(func(at, step []int, n int) {
		for i := range n {
			p, q := (at[0]+i*step[0])*size, (at[1]+i*step[1])*size
			copy(to[p:p+size], from[q:])
		}
	}, *y, *x)
}

func optimizedCopy(y, x *storage.Array) bool {
	var g native.Grid
	if !g.Over(&y.View, &x.View) {
		return false
	}
	if !g.Empty {
		native.Copy(x.Type.Size(), &g, at(&g, 0, y), at(&g, 1, x))
	}
	return true
}

// FillOptions are the options of Fill.
type FillOptions struct{ Value float64 }

// Fill sets every element of y to Value, converted as dtype.Convert does.
var Fill = define("fill",
	func(c *Call, _ FillOptions) error { return c.checkOperands(1, 0) },
	func(c *Call, options FillOptions) error {
		elem := options.of(c.Out[0].Type)
		size, bytes := c.Out[0].Type.Size(), c.Out[0].Data.(storage.Host).Bytes()
		blocks(func(at, step []int, n int) {
			for i := range n {
				copy(bytes[(at[0]+i*step[0])*size:], elem[:size])
			}
		}, c.Out[0])
		return nil
	},
	func(c *Call, options FillOptions) (bool, error) {
		y := &c.Out[0]
		var g native.Grid
		if !g.Over(&y.View) {
			return false, nil
		}
		if !g.Empty { // the second operand's strides are 0: one element, repeated
			elem := options.of(y.Type)
			native.Copy(y.Type.Size(), &g, at(&g, 0, y), elem[:])
		}
		return true, nil
	})

// of returns Value as an element of type t.
func (f FillOptions) of(t dtype.Type) (elem [16]byte) {
	value := [1]float64{f.Value}
	must(dtype.Convert(elem[:t.Size()], t, dtype.Bytes(value[:]), dtype.Float64))
	return elem
}
