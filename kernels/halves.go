package kernels

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// isHalf reports whether t is a float of 16 bits.
func isHalf(t dtype.Type) bool { return t == dtype.Float16 || t == dtype.BFloat16 }

// withHalfFloats makes k, which is written for float32 and float64, take float16 and
// bfloat16 on the CPU as well. Operands are converted to float64 for the reference and to
// float32 for the optimized implementation, and results are rounded. It returns k.
func withHalfFloats(k *Kernel) *Kernel {
	reference, optimized := k.Reference, k.Optimized
	k.Reference = func(c *Call) error {
		if !c.hasHalfFloats() {
			return reference(c)
		}
		return c.converted(k, dtype.Float64, reference)
	}
	k.Optimized = func(c *Call) (done bool, err error) {
		if !c.hasHalfFloats() {
			return optimized(c)
		}
		err = c.converted(k, dtype.Float32, func(wide *Call) (err error) {
			if done, err = optimized(wide); !done && err == nil {
				done, err = true, reference(wide)
			}
			return err
		})
		return done, err
	}
	return k
}

func (c *Call) hasHalfFloats() bool {
	for _, list := range [2][]storage.Array{c.Out, c.In} {
		for i := range list {
			if isHalf(list[i].Type) {
				return true
			}
		}
	}
	return false
}

// converted runs a call of k on copies of its float operands as type t, and then stores
// its outputs. Outputs are read as well, for kernels that update them.
func (c *Call) converted(k *Kernel, t dtype.Type, run func(wide *Call) error) error {
	if err := k.check(c); err != nil {
		return err
	}
	wide := Call{Out: make([]storage.Array, len(c.Out)), In: make([]storage.Array, len(c.In)), Options: c.Options}
	for i := range c.In {
		wide.In[i] = converted(&c.In[i], t)
	}
	for i := range c.Out {
		wide.Out[i] = converted(&c.Out[i], t)
	}
	if err := run(&wide); err != nil {
		return err
	}
	for i := range c.Out {
		if c.Out[i].Type.IsFloat() {
			convertElements(&c.Out[i], &wide.Out[i])
		}
	}
	return nil
}

// converted returns a copy of a as type t with its axes in the same order in memory; an array
// of another kind than floats is returned unchanged.
func converted(a *storage.Array, t dtype.Type) storage.Array {
	if !a.Type.IsFloat() {
		return *a
	}
	wide, err := storage.Make(storage.CPU, t, a.Shape...)
	must(err)
	wide.View = views.Like(a.View)
	convertElements(&wide, a)
	return wide
}
