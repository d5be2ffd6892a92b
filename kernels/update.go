package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// An update is of any number of parameters at once: its outputs are each parameter
// and what is kept with it, so many arrays; its inputs the gradients of all, which
// dials and a guard may follow. Of each parameter all are floats of one type and shape.

// updates checks the operands of an update of parameters that are so many arrays.
func (c *Call) updates(arrays int) error {
	n := len(c.Out) / arrays
	if n == 0 || len(c.Out)%arrays != 0 || len(c.In) < n {
		return fmt.Errorf("%d outputs and %d inputs; want %d for each parameter, and its gradient: %w", len(c.Out), len(c.In), arrays, views.ErrShape)
	}
	if err := c.holds(len(c.Out), len(c.In)); err != nil {
		return err
	}
	if err := steering(c.In[n:]); err != nil {
		return err
	}
	for i := range n {
		out, _ := c.parameter(i, arrays)
		one := Call{Out: out, In: c.In[i : i+1]}
		if err := one.oneShape(); err != nil {
			return err
		}
		if err := one.allFloats(); err != nil {
			return err
		}
	}
	return nil
}

// parameter returns what an update changes of the i-th parameter, and its gradient.
func (c *Call) parameter(i, arrays int) (out []storage.Array, g *storage.Array) {
	return c.Out[i*arrays:][:arrays:arrays], &c.In[i]
}

// update calls f with every element of a parameter's gradient, as it should be, and of
// out, which it changes.
func update(out []storage.Array, grad *storage.Array, unscale float64, f func(g float64, o []float64)) {
	arrays := append(out[:len(out):len(out)], *grad)
	var elems [4][block]float64
	o := make([]float64, len(out))
	blocks(func(at, step []int, n int) {
		for k := range arrays {
			load(elems[k][:n], &arrays[k], at[k], step[k])
		}
		for i := range n {
			for k := range o {
				o[k] = elems[k][i]
			}
			f(unscale*elems[len(o)][i], o)
			for k := range o {
				elems[k][i] = o[k]
			}
		}
		for k := range out {
			store(&out[k], at[k], step[k], elems[k][:n])
		}
	}, arrays...)
}
