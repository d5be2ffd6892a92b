package kernels

import (
	"cmp"

	"github.com/h5dnn/h5dnn/dtype"
)

// ScaleOffsetOptions are the options of ScaleOffset, Cast and GatherCast. The zero value changes nothing.
type ScaleOffsetOptions struct {
	Scale  float64 // 1 if 0: multiply by zeros with Mul
	Offset float64
}

// withDefault returns o with a Scale that is not 0.
func (o ScaleOffsetOptions) withDefault() ScaleOffsetOptions {
	o.Scale = cmp.Or(o.Scale, 1)
	return o
}

// ScaleOffset is y = Scale·x + Offset, for floats.
var ScaleOffset = updatesInPlace(define("scale offset",
	func(c *Call, _ ScaleOffsetOptions) error { return c.checkAlike(1, dtype.Invalid) },
	func(c *Call, options ScaleOffsetOptions) error {
		if !c.In[0].Type.IsFloat() || c.In[0].Type.StorageOnly() {
			return notDefined(c.In[0].Type)
		}
		options = options.withDefault()
		referenceMap(func(x float64) float64 { return x*options.Scale + options.Offset }, c.Out[0], c.In[0])
		return nil
	},
	func(c *Call, options ScaleOffsetOptions) (bool, error) {
		options = options.withDefault()
		return runOp(scaleOffset, c, options.Scale, options.Offset), nil
	}))

var scaleOffset = opOf("scale offset")
