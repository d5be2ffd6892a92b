package kernels

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
)

// A typedLoop is the reference loop for one compute type.
type typedLoop struct {
	compute dtype.Type
	run     func(c *Call)
}

func unary[W computeType](f func(x W) W) typedLoop {
	return typedLoop{dtype.Of[W](), func(c *Call) { referenceMap(f, c.Out[0], c.In[0]) }}
}

func binary[W computeType](f func(x, y W) W) typedLoop {
	return typedLoop{dtype.Of[W](), func(c *Call) { referenceZip(f, c.Out[0], c.In[0], c.In[1]) }}
}

func comparison[W computeType](f func(x, y W) bool) typedLoop {
	return typedLoop{dtype.Of[W](), func(c *Call) {
		referenceZip(func(x, y W) uint64 {
			if f(x, y) {
				return 1
			}
			return 0
		}, c.Out[0], c.In[0], c.In[1])
	}}
}

func ternary[W computeType](f func(x, y, w W) W) typedLoop {
	return typedLoop{dtype.Of[W](), func(c *Call) { referenceZip3(f, c.Out[0], c.In[0], c.In[1], c.In[2]) }}
}

// unaryKernel is the kernel y = f(x), elementwise, for operands of one type and shape
// with any strides; y may be x. The line of its name in native/ops.h gives the optimized loop
// and the device code. Without a line it is computed by f, on the host only.
func unaryKernel(name string, f ...typedLoop) *Kernel {
	return elementwise(name, 1, dtype.Invalid, f)
}

// binaryKernel is the elementwise kernel z = f(x, y).
func binaryKernel(name string, f ...typedLoop) *Kernel {
	return elementwise(name, 2, dtype.Invalid, f)
}

// ternaryKernel is the elementwise kernel z = f(x, y, w).
func ternaryKernel(name string, f ...typedLoop) *Kernel {
	return elementwise(name, 3, dtype.Invalid, f)
}

// comparisonKernel is the kernel whose bools are f(x, y).
func comparisonKernel(name string, f ...typedLoop) *Kernel {
	return elementwise(name, 2, dtype.Bool, f)
}

// elementwise is a kernel with the given number of inputs, all of one type. The output has
// that type too, or out if that is valid.
func elementwise(name string, ins int, out dtype.Type, loops []typedLoop) *Kernel {
	check := func(c *Call, _ struct{}) error { return c.checkAlike(ins, out) }
	reference := func(c *Call, _ struct{}) error {
		for _, f := range loops {
			if f.compute == computeTypeOf(c.In[0].Type) {
				f.run(c)
				return nil
			}
		}
		return notDefined(c.In[0].Type)
	}
	op, listed := native.FindOp(name)
	if !listed {
		k := hostOnly(define(name, check, reference, nil))
		k.inputs, k.inPlace = ins, true
		return k
	}
	k := define(name, check, reference, func(c *Call, _ struct{}) (bool, error) { return runOp(op, c, 0, 0), nil })
	k.inputs, k.inPlace = ins, true
	return onGPU(k, func(c *Call, _ struct{}) error {
		for _, f := range loops {
			if f.compute == computeTypeOf(c.In[0].Type) {
				return c.launchLoop(name, 0, 0)
			}
		}
		return notDefined(c.In[0].Type)
	})
}

// checkAlike checks that there is one output and the given number of inputs, all of one shape and
// type; the output has type out if that is valid.
func (c *Call) checkAlike(ins int, out dtype.Type) error {
	if err := c.checkOperands(1, ins); err != nil {
		return err
	}
	if err := c.oneShape(); err != nil {
		return err
	}
	if !out.Valid() {
		out = c.In[0].Type
	}
	if err := oneType(out, c.Out...); err != nil {
		return err
	}
	return oneType(c.In[0].Type, c.In...)
}

// opOf returns the line of ops.h of that name, which must exist.
func opOf(name string) native.Op {
	op, ok := native.FindOp(name)
	if !ok {
		panic("kernels: ops.h has no line " + name)
	}
	return op
}

// runOp computes c.Out[0] from one to three inputs and the constants a and b. It
// returns false for types and ranks that have no loop.
func runOp(op native.Op, c *Call, a, b float64) bool {
	z, x, y := &c.Out[0], &c.In[0], &c.In[min(1, len(c.In)-1)]
	if !op.Takes(x.Type) {
		return false
	}
	var g native.Grid
	if len(c.In) == 3 {
		w := &c.In[2]
		if !g.Over(&z.View, &x.View, &y.View, &w.View) {
			return false
		}
		if !g.Empty {
			op.Run(x.Type, &g, at(&g, 0, z), at(&g, 1, x), at(&g, 2, y), at(&g, 3, w), a, b)
		}
		return true
	}
	if !g.Over(&z.View, &x.View, &y.View) {
		return false
	}
	if !g.Empty {
		op.Run(x.Type, &g, at(&g, 0, z), at(&g, 1, x), at(&g, 2, y), nil, a, b)
	}
	return true
}
