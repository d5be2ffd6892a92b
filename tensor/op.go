package tensor

import (
	"runtime"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// An Op is one operation in one expression. Its fields are its settings and
// what its Forward saves for its Backward.
type Op interface {
	Name() string
	// Infer returns the type of the result and how it should lie in memory, or fails.
	Infer(in ...*Tensor) (dtype.Type, views.View)
	// Forward computes y, which comes uninitialised, from in.
	Forward(w *Context, y storage.Array, in ...storage.Array) error
	// Backward returns, for each input, dy propagated to it; nil where none
	// flows. It may leave out inputs that do not require a gradient. What it
	// computes is not recorded.
	Backward(y, dy *Tensor, in ...*Tensor) []*Tensor
}

// A Work is where a Forward happens: a device that runs kernels, and memory
// that lives as long as the result.
type Context struct {
	device    kernels.Runner
	tape      *Tape
	recording bool
	call      kernels.Call
}

// Run runs k from in to the arrays of out.
func (w *Context) Run(k *kernels.Kernel, set any, out []storage.Array, in ...storage.Array) error {
	w.call.Out, w.call.In, w.call.Set = out, in, set
	return w.device.Run(k, &w.call)
}

// Recording reports whether Backward may follow, and needs what Forward saves.
func (w *Context) Recording() bool { return w.recording }

// Make returns uninitialised memory for the elements of v, a view as Infer returns.
func (w *Context) Alloc(t dtype.Type, v views.View) (storage.Array, error) {
	size := v.Len() * t.Size()
	var data storage.Storage
	var err error
	if w.tape != nil {
		data, err = w.tape.get(w.device, size)
	} else {
		data, err = w.device.Alloc(size)
	}
	return storage.Array{Data: data, Type: t, View: v}, err
}

func (w Context) mustAlloc(t dtype.Type, v views.View) storage.Array {
	a, err := w.Alloc(t, v)
	check("allocate", err)
	return a
}

// Apply computes op on in and records it if a gradient may be asked for. It is
// the one way anything differentiable is computed.
func Apply(op Op, in ...*Tensor) *Tensor { return apply(nil, op, in...) }

// apply is Apply in the step of tape, if in belongs to none.
func apply(tape *Tape, op Op, in ...*Tensor) *Tensor {
	y := newResult(op.Name(), in)
	if y.tape == nil {
		y.tape = tape
	}
	t, v := op.Infer(in...)
	w := Context{device: device(op.Name(), in...), tape: y.tape, recording: y.requiresGrad && !y.noGrad}
	y.Array = w.mustAlloc(t, v)
	check(op.Name(), op.Forward(&w, y.Array, arrays(in)...))
	runtime.KeepAlive(in)
	y.record(op, in)
	return y
}

// view returns the tensor that sees x's storage through v, as computed by op.
func view(op Op, x *Tensor, v views.View) *Tensor {
	in := []*Tensor{x}
	y := newResult(op.Name(), in)
	y.Array = x.With(v)
	y.record(op, in)
	return y
}

// A Spec says what an array to be computed is like.
type Spec struct {
	Type dtype.Type
	views.View
}

// like is the Spec of an array as x, without gaps.
func like(x *Tensor) Spec { return Spec{x.Type, views.Like(x.View)} }

// Compute runs a kernel on in and returns its outputs, unrecorded: for
// derivatives, metrics and the like.
func RunKernel(k *kernels.Kernel, set any, out []Spec, in ...*Tensor) []*Tensor {
	common := newResult(k.Name, in)
	w := Context{device: device(k.Name, in...), tape: common.tape}
	made := make([]storage.Array, len(out))
	results := make([]*Tensor, len(out))
	for i, spec := range out {
		made[i] = w.mustAlloc(spec.Type, spec.View)
		results[i] = &Tensor{Array: made[i], noGrad: common.noGrad, tape: common.tape}
	}
	check(k.Name, w.Run(k, set, made, arrays(in)...))
	return results
}

// compute is Compute of a kernel with one output.
func runKernel(k *kernels.Kernel, set any, out Spec, in ...*Tensor) *Tensor {
	return RunKernel(k, set, []Spec{out}, in...)[0]
}

// run runs k on arrays that exist, for the operations that change them.
func run(op string, k *kernels.Kernel, set any, out []storage.Array, in ...storage.Array) {
	r, err := kernels.On(out[0])
	check(op, err)
	check(op, r.Run(k, &kernels.Call{Out: out, In: in, Set: set}))
}

// newResult returns a tensor, still without a value, of the step that in belongs to.
func newResult(act string, in []*Tensor) *Tensor {
	y := new(Tensor)
	for _, x := range in {
		x.checkAlive(act)
		y.requiresGrad = y.requiresGrad || x.requiresGrad
		y.noGrad = y.noGrad || x.noGrad
		if x.tape != nil {
			y.tape = x.tape
		}
	}
	return y
}

// device returns where in can be computed on together.
func device(act string, in ...*Tensor) kernels.Runner {
	first := in[0].Data.Device()
	for _, x := range in[1:] {
		if d := x.Data.Device(); d != first {
			fail(act, storage.ErrDevice, "operands on %v and %v; move one with To", first, d)
		}
	}
	r, err := kernels.On(in[0].Array)
	check(act, err)
	return r
}

func arrays(in []*Tensor) []storage.Array {
	as := make([]storage.Array, len(in))
	for i, x := range in {
		as[i] = x.Array
	}
	return as
}

// A node is one recorded operation.
type node struct {
	op      Op
	in      []*Tensor
	order   uint64 // operations recorded later have a larger one
	version uint64 // of the storages it depends on, when it was computed
}

var recorded atomic.Uint64

// record remembers that y is op of in, if anyone may ask.
func (y *Tensor) record(op Op, in []*Tensor) {
	if y.noGrad {
		return
	}
	if y.requiresGrad = y.requiresGrad && y.Type.IsFloat(); y.requiresGrad {
		y.node = &node{op, in, recorded.Add(1), version(y, in)}
	}
}

// version adds up the version counts of y's and in's storages. Counts only
// grow, so the sum is equal if and only if nothing was written to.
func version(y *Tensor, in []*Tensor) uint64 {
	sum := versionOf(y)
	for _, x := range in {
		sum += versionOf(x)
	}
	return sum
}

func versionOf(x *Tensor) uint64 {
	if v, ok := x.Data.(storage.Versioned); ok {
		return v.Version()
	}
	return 0
}
