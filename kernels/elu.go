package kernels

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
)

// ELUOptions are the options of ELU and ELUGrad.
type ELUOptions struct{ Alpha, Scale float64 }

// ELU is y = Scale·x where x > 0 and Scale·Alpha·(eˣ − 1) elsewhere (Clevert et al.,
// arXiv:1511.07289).
var ELU = eluKernel("elu", 1, func(c *Call, o ELUOptions) {
	referenceMap(func(x float64) float64 {
		if x > 0 {
			return o.Scale * x
		}
		return o.Alpha * o.Scale * math.Expm1(x)
	}, c.Out[0], c.In[0])
})

// ELUGrad is dx = Scale·dy where x > 0 and Scale·Alpha·eˣ·dy elsewhere; its inputs are x and
// dy.
var ELUGrad = eluKernel("elu grad", 2, func(c *Call, o ELUOptions) {
	referenceZip(func(x, dy float64) float64 {
		if x > 0 {
			return o.Scale * dy
		}
		return o.Alpha * o.Scale * math.Exp(x) * dy
	}, c.Out[0], c.In[0], c.In[1])
})

// eluKernel is the kernel of a line of ops.h whose constants are Alpha·Scale and Scale.
func eluKernel(name string, ins int, reference func(c *Call, o ELUOptions)) *Kernel {
	op := opOf(name)
	k := define(name,
		func(c *Call, _ ELUOptions) error {
			if err := c.checkAlike(ins, dtype.Invalid); err != nil {
				return err
			}
			return allFloats(c.In...)
		},
		func(c *Call, o ELUOptions) error {
			reference(c, o)
			return nil
		},
		func(c *Call, o ELUOptions) (bool, error) { return runOp(op, c, o.Alpha*o.Scale, o.Scale), nil })
	return onGPU(updatesInPlace(k), func(c *Call, o ELUOptions) error {
		return c.launchLoop(name, o.Alpha*o.Scale, o.Scale)
	})
}
