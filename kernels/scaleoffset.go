package kernels

import "github.com/h5dnn/h5dnn/dtype"

// ScaleOffsetOptions are the options of ScaleOffset.
type ScaleOffsetOptions struct{ Scale, Offset float64 }

// ScaleOffset is y = Scale·x + Offset, for floats.
var ScaleOffset = define("scale offset",
	func(c *Call, _ ScaleOffsetOptions) error { return c.alike(1, dtype.Invalid) },
	func(c *Call, options ScaleOffsetOptions) error {
		if !c.In[0].Type.IsFloat() || c.In[0].Type.StorageOnly() {
			return notDefined(c.In[0].Type)
		}
		referenceMap(func(x float64) float64 { return x*options.Scale + options.Offset }, c.Out[0], c.In[0])
		return nil
	},
	func(c *Call, options ScaleOffsetOptions) (bool, error) {
		return runOp(scaleOffset, c, options.Scale, options.Offset), nil
	})

var scaleOffset = opOf("scale offset")
