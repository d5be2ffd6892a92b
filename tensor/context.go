package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Context is where a Forward runs: a device that runs kernels, and memory that lives
// as long as the result.
type Context struct {
	device    storage.Device // that computes, or at least holds data
	tape      *Tape
	recording bool
	temps     []*block // taken by Temp
	call      kernels.Call
}

// Run runs k from in to the arrays of out.
func (c *Context) Run(k *kernels.Kernel, options any, out []storage.Array, in ...storage.Array) error {
	c.call.Out, c.call.In, c.call.Options = out, in, options
	c.call.BF16 = c.tape != nil && c.tape.roundsBF16
	r, err := kernels.On(c.device)
	if err != nil {
		return err
	}
	return r.Run(k, &c.call)
}

// Recording reports whether Backward may follow, and needs what Forward saves.
func (c *Context) Recording() bool { return c.recording }

// Recomputing reports whether this Forward repeats one of the same step, for [Checkpoint]:
// state that is kept between steps, such as running statistics, must not change again.
func (c *Context) Recomputing() bool { return c.tape != nil && c.tape.recomputing }

// Alloc returns uninitialised memory for the elements of v, a view as Infer returns.
func (c *Context) Alloc(t dtype.Type, v views.View) (storage.Array, error) {
	a, _, err := c.alloc(t, v)
	return a, err
}

// Temp returns uninitialised memory for the elements of v, until Forward returns.
func (c *Context) Temp(t dtype.Type, v views.View) (storage.Array, error) {
	a, b, err := c.alloc(t, v)
	if b != nil {
		c.temps = append(c.temps, b)
	}
	return a, err
}

// releaseTemps gives the memory of Temp back.
func (c *Context) releaseTemps() {
	for _, b := range c.temps {
		c.tape.release(b)
	}
	c.temps = nil
}

// Save returns uninitialised memory that Forward fills for Backward. It is released
// when Backward has run.
func (c *Context) Save(t dtype.Type, v views.View) (*Tensor, error) {
	a, b, err := c.alloc(t, v)
	return &Tensor{array: a, block: b, noGrad: true, saved: true, tape: c.tape}, err
}

func (c *Context) alloc(t dtype.Type, v views.View) (storage.Array, *block, error) {
	size := v.Len() * t.Size()
	if c.tape != nil {
		data, b, err := c.tape.get(c.device, size)
		return storage.Array{Data: data, Type: t, View: v}, b, err
	}
	if c.device == kernels.CPU || c.device == storage.CPU {
		data, err := storage.Uninitialized(size)
		return storage.Array{Data: data, Type: t, View: v}, nil, err
	}
	data, err := c.device.Alloc(size)
	return storage.Array{Data: data, Type: t, View: v}, nil, err
}
