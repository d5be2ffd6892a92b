package kernels

// updates checks the operands of an optimizer: the gradient, which dials and a
// guard may follow, and from least to most outputs, all floats of one shape.
func (c *Call) updates(least, most int) error {
	if err := c.holds(max(least, min(len(c.Out), most)), max(1, min(len(c.In), 3))); err != nil {
		return err
	}
	moved := Call{Out: c.Out, In: c.In[:1]}
	if err := moved.oneShape(); err != nil {
		return err
	}
	if err := moved.allFloats(); err != nil {
		return err
	}
	return c.steering()
}

// update calls f with every element of the gradient and of the outputs, which it
// changes, unless a guard says that the gradient is bad.
func (c *Call) update(f func(g float64, o []float64)) {
	unscale, bad := c.guard()
	if bad {
		return
	}
	arrays := append(c.Out[:len(c.Out):len(c.Out)], c.In[0])
	var elems [4][block]float64
	o := make([]float64, len(c.Out))
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
		for k := range c.Out {
			store(&c.Out[k], at[k], step[k], elems[k][:n])
		}
	}, arrays...)
}
