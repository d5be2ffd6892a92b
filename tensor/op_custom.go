package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Custom is an operation that is made of kernels of one's own: package cuda
// makes such of CUDA C++ and PTX. Kernels see row-major arrays without gaps.
type Custom struct {
	Name string // in messages
	// Result returns the type and shape of the result, or fails by Fail. If it is
	// nil, they are those of the first input.
	Result func(in ...*Tensor) (dtype.Type, []int)
	// Forward computes the result from the inputs.
	Forward *kernels.Kernel
	// Backward computes the gradients. Its outputs are dx for each input that is of floats, zeros to
	// begin with; its inputs are those of the operation, then the result y, then dy. If it is nil, asking
	// for a gradient is an error.
	Backward *kernels.Kernel
	Options  any // settings, for both kernels
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

func (c custom) Name() string { return c.settings.Name }

func (c custom) Infer(in ...*Tensor) (dtype.Type, views.View) {
	if c.settings.Result == nil {
		return in[0].Type, views.Of(in[0].Shape...)
	}
	t, shape := c.settings.Result(in...)
	return t, views.Of(shape...)
}

func (c custom) Forward(w *Context, y storage.Array, in ...storage.Array) error {
	tight, err := w.contiguous(in)
	if err != nil {
		return err
	}
	return w.Run(c.settings.Forward, c.settings.Options, []storage.Array{y}, tight...)
}

// tight returns arrays as they are where they are row-major without gaps, and
// else copies that are.
func (w *Context) contiguous(in []storage.Array) ([]storage.Array, error) {
	in = slices.Clone(in)
	for i, a := range in {
		if a.Contiguous() {
			continue
		}
		var err error
		if in[i], err = w.Alloc(a.Type, views.Of(a.Shape...)); err != nil {
			return nil, err
		}
		if err := w.Run(kernels.Copy, nil, in[i:i+1], a); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func (c custom) Backward(y, dy *Tensor, in ...*Tensor) []*Tensor {
	if c.settings.Backward == nil {
		fail(c.Name(), ErrState, "has no Backward kernel; Detach what needs no gradient")
	}
	all := make([]*Tensor, len(in))
	var out []storage.Array
	for i, x := range in {
		if x.Type.IsFloat() {
			all[i] = x.zeros(views.Of(x.Shape...))
			out = append(out, all[i].Array)
		}
	}
	w := Context{device: device(c.Name(), in...), tape: y.tape}
	tight, err := w.contiguous(append(arrays(in), y.Array, dy.Array))
	check(c.Name(), err)
	check(c.Name(), w.Run(c.settings.Backward, c.settings.Options, out, tight...))
	return all
}
