package kernels

// updates checks the operands of an optimizer: one input, the gradient, and
// from least to most outputs, all floats of one shape.
func (c *Call) updates(least, most int) error {
	if err := c.holds(max(least, min(len(c.Out), most)), 1); err != nil {
		return err
	}
	if err := c.oneShape(); err != nil {
		return err
	}
	return c.allFloats()
}

// update calls f with every element of the gradient and of the outputs, which it changes.
func (c *Call) update(f func(g float64, o []float64)) {
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
			f(elems[len(o)][i], o)
			for k := range o {
				elems[k][i] = o[k]
			}
		}
		for k := range c.Out {
			store(&c.Out[k], at[k], step[k], elems[k][:n])
		}
	}, arrays...)
}
