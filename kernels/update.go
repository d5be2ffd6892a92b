package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// An update takes any number of parameters. Its outputs are, for each parameter, the
// parameter and its optimizer buffers; its inputs are the gradients of all parameters, optionally
// followed by hyperparameters and a loss scaler. The arrays of a parameter have one float type and one shape.

// updates checks the operands of an update with the given number of outputs for each parameter.
func (c *Call) updates(arrays int) error {
	n := len(c.Out) / arrays
	if n == 0 || len(c.Out)%arrays != 0 || len(c.In) < n {
		return fmt.Errorf("%d outputs and %d inputs; want %d for each parameter, and its gradient: %w", len(c.Out), len(c.In), arrays, views.ErrShape)
	}
	if err := c.checkOperands(len(c.Out), len(c.In)); err != nil {
		return err
	}
	if err := checkStepInputs(c.In[n:]); err != nil {
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

// parameter returns the outputs of the i-th parameter, and its gradient.
func (c *Call) parameter(i, arrays int) (out []storage.Array, g *storage.Array) {
	return c.Out[i*arrays:][:arrays:arrays], &c.In[i]
}

// update calls f with every element of a parameter's unscaled gradient, and of its
// outputs, which f changes.
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
