package tensor

import (
	"runtime"
	"slices"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// An Op is one operation in one expression. Its fields are its settings and
// what its Forward saves for its Backward.
type Op interface {
	Name() string
	// Infer checks the operands and describes the results, or fails by Fail.
	Infer(in []Spec) []Spec
	// Forward computes out from in. The arrays of out are as Infer described them,
	// uninitialised. Forward keeps neither slice.
	Forward(c *Context, out, in []storage.Array) error
	// Backward returns the gradient of each operand from the gradients of the results:
	// nil for operands without a gradient, and if it likes for those that require none.
	// An element of grads is nil if its result has no gradient; at least one is not.
	//
	// What Backward computes by Apply is recorded if the caller of [Grad] asked for
	// that. RunKernel then refuses: such an operation has a first derivative only.
	Backward(out, grads, in []*Tensor) []*Tensor
}

// A DynamicOp is an operation whose results have shapes that depend on the values of
// its operands, as the number of selected elements does. Its Infer checks the operands
// and returns -1 for the sizes that it cannot know.
type DynamicOp interface {
	Op
	// Measure returns the specifications of the results. It may read values, so it
	// waits for the device: such operations cannot be captured in a graph, and refuse
	// meta tensors.
	Measure(c *Context, in []storage.Array) ([]Spec, error)
}

// Apply computes the single result of op on in, and records it if a gradient may be
// asked for. It is the one way anything differentiable is computed.
func Apply(op Op, in ...*Tensor) *Tensor {
	out := apply(nil, op, in)
	if len(out) != 1 {
		fail(op.Name(), ErrState, "Infer describes %d results; want 1, or ApplyAll", len(out))
	}
	return out[0]
}

// ApplyAll is Apply of an operation with several results.
func ApplyAll(op Op, in ...*Tensor) []*Tensor {
	return slices.Clone(apply(nil, op, in)) // which the caller may reorder
}

// apply is Apply in the step of tape, if in belongs to none.
func apply(tape *Tape, op Op, in []*Tensor) []*Tensor {
	if len(in) == 0 {
		fail(op.Name(), ErrState, "no operands; want at least 1")
	}
	checkGiven(op.Name(), in...)
	if anyLazy(in) {
		tapeOf(tape, in).refuse("computes on data in files")
		if out, done := applyLazy(tape, op, in); done {
			return out
		}
		in = inMemory(op.Name(), in)
	}
	return applyOn(device(op.Name(), in...), tape, op, in)
}

// tapeOf returns the step of in, or else tape.
func tapeOf(tape *Tape, in []*Tensor) *Tape {
	for _, x := range in {
		if x.tape != nil {
			return x.tape
		}
	}
	return tape
}

// applyOn is apply with the results on a device, wherever the operands are.
func applyOn(device storage.Device, tape *Tape, op Op, in []*Tensor) []*Tensor {
	name := op.Name()
	mode := modeOf(name, op, tape, in)
	s := scratches.Get().(*scratch)
	defer s.release()
	for _, x := range in {
		s.specs = append(s.specs, x.Spec())
		s.arrays = append(s.arrays, x.array)
	}
	specs := named(op, s.specs, op.Infer(s.specs))
	s.context = Context{device: device, tape: mode.tape, recording: mode.records()}
	arrays := s.arrays[:len(in):len(in)]
	if dynamic, ok := op.(DynamicOp); ok {
		if device == Meta {
			fail(name, ErrState, "the shape of its result depends on values, which meta tensors do not have")
		}
		mode.tape.refuse("makes results of shapes that depend on values")
		var err error
		specs, err = dynamic.Measure(&s.context, arrays)
		check(name, err)
	}
	if len(specs) == 0 {
		fail(name, ErrState, "Infer describes 0 results; want at least 1")
	}
	out := mode.results(len(specs))
	into := targetOf(op, specs, in, out[0])
	for i, spec := range specs {
		var err error
		if into != nil {
			mode.tape.refuse("writes to given memory")
			out[i].array, out[i].block = into.x.array, into.x.block
		} else {
			out[i].array, out[i].block, err = s.context.alloc(spec.Type, spec.View)
		}
		check(name, err)
		out[i].format = spec.Format
		s.arrays = append(s.arrays, out[i].array)
	}
	first := mode.tape.allocated()
	if watching() {
		watched(name, mode, device, s.arrays[len(in):], arrays, func() error { return op.Forward(&s.context, s.arrays[len(in):], arrays) })
	} else {
		check(name, op.Forward(&s.context, s.arrays[len(in):], arrays))
	}
	s.context.releaseTemps()
	mode.tape.note(op, s.arrays[len(in):], arrays)
	runtime.KeepAlive(in)
	mode.record(op, in, out, first)
	return out
}

// view returns the tensor that sees x's storage through v, as computed by op.
func view(op Op, x *Tensor, v views.View) *Tensor { return viewAll(op, x, v)[0] }

// viewAll is view of an operation with several results.
func viewAll(op Op, x *Tensor, vs ...views.View) []*Tensor {
	in := []*Tensor{x}
	mode := modeOf(op.Name(), op, nil, in)
	out := mode.results(len(vs))
	for i, v := range vs {
		out[i].array, out[i].block, out[i].format = x.array.With(v), x.block, x.formatOfView(op, v)
		out[i].isView, x.viewed = true, true
	}
	mode.record(op, in, out, mode.tape.allocated())
	return slices.Clone(out) // which the caller may reorder
}

// RunKernel runs a kernel on in and returns its outputs, which are not recorded: for
// derivatives and metrics. It refuses operands whose gradient would be lost: Detach
// them if that is meant.
func RunKernel(k *kernels.Kernel, options any, out []Spec, in ...*Tensor) []*Tensor {
	in = inMemory(k.Name, in)
	mode := modeOf(k.Name, k, nil, in)
	if mode.records() {
		for _, spec := range out {
			if hasGradient(spec.Type) {
				panic(&Error{k.Name, errNotDifferentiable})
			}
		}
	}
	c := Context{device: device(k.Name, in...), tape: mode.tape}
	made := make([]storage.Array, len(out))
	results := mode.results(len(out))
	for i, spec := range out {
		var err error
		results[i].array, results[i].block, err = c.alloc(spec.Type, spec.View)
		check(k.Name, err)
		made[i] = results[i].array
	}
	if watching() {
		watched(k.Name, mode, c.device, made, arrays(in), func() error { return c.Run(k, options, made, arrays(in)...) })
	} else {
		check(k.Name, c.Run(k, options, made, arrays(in)...))
	}
	mode.tape.note(kernelCall{k: k, options: options}, made, arrays(in))
	return results
}

var errNotDifferentiable = errkind.Errorf(storage.ErrState, "has no derivative that is recorded; Detach its operands if no gradient should flow through it")

// runKernel is RunKernel of a kernel with one output.
func runKernel(k *kernels.Kernel, options any, out Spec, in ...*Tensor) *Tensor {
	return RunKernel(k, options, []Spec{out}, in...)[0]
}

// run runs k on arrays that exist, for the operations that change them.
func run(op string, k *kernels.Kernel, options any, out []storage.Array, in ...storage.Array) {
	r, err := kernels.On(out[0].Data.Device())
	check(op, err)
	call := &kernels.Call{Out: out, In: in, Options: options}
	if watching() {
		watched(op, mode{}, r, out, in, func() error { return r.Run(k, call) })
	} else {
		check(op, r.Run(k, call))
	}
}

// device returns where in can be computed on together: Meta if one of them is there. Lazy ones
// can be anywhere.
func device(act string, in ...*Tensor) kernels.Runner {
	var first storage.Device
	for _, x := range in {
		d := x.Device()
		switch {
		case x.IsLazy():
		case first == nil:
			first = d
		case d == first:
		case d == Meta || first == Meta:
			return Meta
		default:
			fail(act, storage.ErrDevice, "operands on %v and %v; move one with To", first, d)
		}
	}
	if first == nil {
		return kernels.CPU
	}
	r, err := kernels.On(first)
	check(act, err)
	return r
}

func arrays(in []*Tensor) []storage.Array {
	as := make([]storage.Array, len(in))
	for i, x := range in {
		as[i] = x.array
	}
	return as
}
