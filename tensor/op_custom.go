package tensor

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Custom is an operation made of kernels from outside this module: package cuda
// makes such kernels from CUDA C++ and PTX. Kernels see row-major arrays without gaps;
// on the CPU, storage.Elements of an array are exactly its elements.
type Custom struct {
	Name string // in messages
	// Infer checks the operands and describes the result, or fails by Fail. If it is
	// nil, the result has the type and shape of the first operand.
	Infer func(in []Spec) Spec
	// Forward computes the result from the operands.
	Forward *kernels.Kernel
	// Backward computes the gradients. Its outputs are dx for each operand of floats,
	// zeros to begin with; its inputs are the operands, the result y, and dy. If it is
	// nil, asking for a gradient is an error.
	Backward *kernels.Kernel
	Options  any // for both kernels
}

// Apply returns the operation's result.
func (c Custom) Apply(in ...*Tensor) *Tensor {
	switch {
	case len(in) == 0:
		fail(c.Name, ErrState, "no inputs")
	case c.Forward == nil:
		fail(c.Name, ErrState, "has no Forward kernel")
	}
	return Apply(custom{c}, in...)
}

type custom struct{ settings Custom }

func (op custom) Name() string { return op.settings.Name }

func (op custom) Infer(in []Spec) []Spec {
	if op.settings.Infer == nil {
		return one(in[0].Type, views.Of(in[0].Shape...))
	}
	y := op.settings.Infer(in)
	return one(y.Type, views.Of(y.Shape...))
}

func (op custom) Forward(c *Context, out, in []storage.Array) error {
	in, err := c.contiguous(in)
	if err != nil {
		return err
	}
	return op.run(c, op.settings.Forward, out, in)
}

// run runs one of the operation's kernels. As elsewhere a panic that is no *Error is a
// bug and passes through, with the names of the operation and the kernel.
func (op custom) run(c *Context, k *kernels.Kernel, out, in []storage.Array) error {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Error:
			panic(p)
		default:
			panic(fmt.Sprintf("tensor: operation %q, kernel %q: %v", op.settings.Name, k.Name, p))
		}
	}()
	return c.Run(k, op.settings.Options, exact(out), exact(in)...)
}

// contiguous returns arrays as they are where they are row-major without gaps, and
// else copies that are.
func (c *Context) contiguous(in []storage.Array) ([]storage.Array, error) {
	in = slices.Clone(in)
	for i, a := range in {
		if a.Contiguous() {
			continue
		}
		var err error
		if in[i], err = c.Temp(a.Type, views.Of(a.Shape...)); err != nil {
			return nil, err
		}
		if err := c.Run(kernels.Copy, nil, in[i:i+1], a); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// exact returns contiguous arrays such that those in host memory have a storage of
// their elements only.
func exact(as []storage.Array) []storage.Array {
	as = slices.Clone(as)
	for i, a := range as {
		if bytes, ok := a.Bytes(); ok {
			as[i] = storage.Array{Data: storage.Wrap(bytes), Type: a.Type, View: views.Of(a.Shape...)}
		}
	}
	return as
}

func (op custom) Backward(out, grads, in []*Tensor) []*Tensor {
	c := op.settings
	switch {
	case c.Backward == nil:
		fail(c.Name, ErrState, "has no Backward kernel; Detach what needs no gradient")
	case !grads[0].noGrad:
		panic(&Error{c.Name, errNotDifferentiable})
	}
	dxs := make([]*Tensor, len(in))
	var results []storage.Array
	for i, x := range in {
		if hasGradient(x.DType()) {
			dxs[i] = x.zeros(views.Of(x.Shape()...))
			results = append(results, dxs[i].array)
		}
	}
	context := Context{device: device(c.Name, in...), tape: out[0].tape}
	defer context.releaseTemps()
	operands, err := context.contiguous(append(arrays(in), out[0].array, grads[0].array))
	check(c.Name, err)
	check(c.Name, op.run(&context, c.Backward, results, operands))
	return dxs
}
