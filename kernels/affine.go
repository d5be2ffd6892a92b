package kernels

import "github.com/h5dnn/h5dnn/dtype"

// AffineSet is the settings of Affine.
type AffineSet struct{ Scale, Shift float64 }

// Affine is y = Scale·x + Shift, for floats.
var Affine = define("affine",
	func(c *Call, _ AffineSet) error { return c.alike(1, dtype.Invalid) },
	func(c *Call, set AffineSet) error {
		if !c.In[0].Type.IsFloat() || c.In[0].Type.StorageOnly() {
			return notOf(c.In[0].Type)
		}
		plainMap(func(x float64) float64 { return x*set.Scale + set.Shift }, c.Out[0], c.In[0])
		return nil
	},
	func(c *Call, set AffineSet) (bool, error) { return runOp(affine, c, set.Scale, set.Shift), nil })

var affine = opOf("affine")
