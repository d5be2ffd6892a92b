package kernels

import (
	"fmt"
	"reflect"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// An update takes any number of parameters. Its outputs are, for each parameter, the
// parameter and its optimizer buffers; its inputs are the gradients of all parameters, optionally
// followed by hyperparameters and a loss scaler. The arrays of a parameter have one float type and one shape.

// A rule is a line of native/updates.h with its numbers.
type rule struct {
	line     string
	settings settings // a[] of the line
	hyper    changing // x[] of the line, the learning rate first, unless memory has them
}

type (
	settings [native.Settings]float64
	changing [native.Changing]float64
)

// updateOptions are the options of an update: a rule, or why they are none, and the reference implementation.
type updateOptions interface {
	rule() (rule, error)
	// reference returns the update of a parameter, o[0], and its buffers by its gradient, with hyperparameters x.
	// Steps that a loss scaler has skipped do not count.
	reference(x changing, skipped float64) func(g float64, o []float64)
}

// UpdateOptions are the options of an optimizer's update, such as AdamOptions.
type UpdateOptions interface {
	updateOptions
	// Hyperparameters returns the options that an update reads from its first step input.
	Hyperparameters() []float64
}

// UpdateOf returns the kernel with options o.
func UpdateOf(o UpdateOptions) *Kernel { return updateKernels[reflect.TypeOf(o)] }

var updateKernels = map[reflect.Type]*Kernel{}

// hyperparameters returns the numbers of an update that change from step to step.
func hyperparameters(o updateOptions) []float64 {
	r, err := o.rule()
	if err != nil {
		panic(err) // steps count from 1
	}
	return r.hyper[:updates[r.line].Changing]
}

// updates are the lines of native/updates.h.
var updates = native.Updates()

// defineUpdate returns the kernel of an optimizer's updates.
func defineUpdate[O UpdateOptions](name string) *Kernel {
	run := func(c *Call, options O, optimized bool) error {
		r, err := options.rule()
		if err != nil {
			return err
		}
		arrays := 1 + updates[r.line].Buffers
		by := stepInputsOf(c.In[len(c.Out)/arrays:], updates[r.line].Changing)
		if by.foundInf {
			return nil
		}
		copy(r.hyper[:], by.hyper)
		for i := range len(c.Out) / arrays {
			if out, g := c.parameter(i, arrays); !optimized || !r.optimized(out, g, by) {
				update(out, g, by.unscale, options.reference(r.hyper, by.skipped))
			}
		}
		return nil
	}
	check := func(c *Call, options O) error {
		r, err := options.rule()
		if err != nil {
			return err
		}
		return c.updates(1+updates[r.line].Buffers, updates[r.line].Changing)
	}
	k := updatesInPlace(define(name, check,
		func(c *Call, options O) error { return run(c, options, false) },
		func(c *Call, options O) (bool, error) { return true, run(c, options, true) }))
	updateKernels[reflect.TypeFor[O]()] = k
	return onGPU(k, func(c *Call, options O) error {
		r, err := options.rule()
		if err != nil {
			return err
		}
		return c.launchUpdate(r)
	})
}

// optimized reports false for updates it leaves to reference.
func (r *rule) optimized(out []storage.Array, grad *storage.Array, by stepInputs) bool {
	real, ok := native.ComputeTypeOf(out[0].Type)
	if !ok || by.unscale != 1 {
		return false
	}
	var s [native.Buffers][]byte
	var n int64
	var grids [native.Buffers]native.Grid // a grid takes four arrays, and there may be five
	for k := range max(1, len(out)-1) {
		b := &out[min(k+1, len(out)-1)]
		if n, ok = grids[k].Flat(&out[0].View, &grad.View, &b.View); !ok {
			return false
		}
		if len(out) > 1 && n > 0 {
			s[k] = at(&grids[k], 2, b)
		}
	}
	if n == 0 {
		return true
	}
	updates[r.line].Apply(real, n, at(&grids[0], 1, grad), at(&grids[0], 0, &out[0]), &s, (*[native.Settings]float64)(&r.settings), (*[native.Changing]float64)(&r.hyper), by.skipped)
	return true
}

// updates checks the operands of an update with the given numbers of outputs for each parameter and of hyperparameters.
func (c *Call) updates(arrays, hyper int) error {
	n := len(c.Out) / arrays
	if n == 0 || len(c.Out)%arrays != 0 || len(c.In) < n {
		return fmt.Errorf("%d outputs and %d inputs; want %d outputs for each parameter, and its gradient: %w", len(c.Out), len(c.In), arrays, views.ErrShape)
	}
	if err := c.checkOperands(len(c.Out), len(c.In)); err != nil {
		return err
	}
	if err := checkStepInputs(c.In[n:], hyper); err != nil {
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
	var elems [2 + native.Buffers][block]float64
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
