package kernels

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
)

// CumSumOptions are the options of CumSum.
type CumSumOptions struct{ Axis int }

// CumSum is y[i] = x[0] + … + x[i] along Axis, of one type. Floats are added in float64.
var CumSum = hostOnly(withHalfFloats(define("cumsum",
	func(c *Call, options CumSumOptions) error {
		if err := c.checkAlike(1, dtype.Invalid); err != nil {
			return err
		}
		if computeTypeOf(c.In[0].Type) == dtype.Invalid {
			return notDefined(c.In[0].Type)
		}
		return hasAxis(&c.Out[0], options.Axis)
	},
	func(c *Call, options CumSumOptions) error {
		instance(c.In[0].Type, referenceCumSum[float64], referenceCumSum[int64], referenceCumSum[uint64])(c, options.Axis)
		return nil
	},
	func(c *Call, options CumSumOptions) (bool, error) {
		return nativeLines(native.CumSum, options.Axis, &c.Out[0], &c.In[0], &c.In[0]), nil
	}), func(c *Call) division {
	options, _ := c.Options.(CumSumOptions)
	d := c.inOnePart()
	for axis, n := range c.In[0].Shape { // the longest other axis
		if axis != options.Axis && (d.in[0] == undivided || n > c.In[0].Shape[d.in[0]]) {
			d.out[0], d.in[0] = axis, axis
		}
	}
	return d
}))

func referenceCumSum[W computeType](c *Call, axis int) {
	var buf []W
	eachLine(axis, func(l []line) {
		buf = read(l[1], buf)
		for i := 1; i < len(buf); i++ {
			buf[i] += buf[i-1]
		}
		for i := 0; i < len(buf); i += block {
			store(l[0].Array, l[0].at+i*l[0].step, l[0].step, buf[i:min(i+block, len(buf))])
		}
	}, &c.Out[0], &c.In[0])
}
