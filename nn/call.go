package nn

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A MultiModule takes or returns several tensors. Its Forward is for those who have
// one input and want one output.
type MultiModule interface {
	Module
	ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor
}

// NamedInputs is implemented by modules that give their inputs names.
type NamedInputs interface {
	Module
	InputNames() []string // in the order of the inputs
}

// NamedOutputs is implemented by modules that give their outputs names.
type NamedOutputs interface {
	Module
	OutputNames() []string // in the order of the outputs
}

// Call applies m, which its caller knows by name, to inputs. A module that contains
// others calls them by Call: the name becomes part of failures, and the functions
// given to Observe see the call.
func Call(name string, m Module, inputs ...*tensor.Tensor) []*tensor.Tensor {
	defer nameFailure(name)
	o := observerOf(inputs)
	if o == nil {
		return forward(m, inputs)
	}
	return o.call(name, m, inputs)
}

// call is Call for one input and one output.
func call(name string, m Module, x *tensor.Tensor) *tensor.Tensor {
	if observing.Load() != 0 {
		return single(kindOf(m), Call(name, m, x))
	}
	defer nameFailure(name)
	if m == nil {
		tensor.Fail("call", storage.ErrState, "no module")
	}
	return notNil(m, m.Forward(x))
}

func forward(m Module, inputs []*tensor.Tensor) []*tensor.Tensor {
	if m == nil {
		tensor.Fail("call", storage.ErrState, "no module")
	}
	if multi, ok := m.(MultiModule); ok {
		outputs := multi.ForwardAll(inputs)
		if len(outputs) == 0 || slices.Contains(outputs, nil) {
			tensor.Fail(kindOf(m), storage.ErrState, "ForwardAll returned %d outputs; want at least one, and none that is nil", len(outputs))
		}
		return outputs
	}
	if len(inputs) != 1 {
		tensor.Fail(kindOf(m), views.ErrShape, "%d inputs; want one", len(inputs))
	}
	return []*tensor.Tensor{notNil(m, m.Forward(inputs[0]))}
}

// notNil returns y, the output of m, and fails if it is nil.
func notNil(m Module, y *tensor.Tensor) *tensor.Tensor {
	if y == nil {
		tensor.Fail(kindOf(m), storage.ErrState, "Forward returned nil")
	}
	return y
}

// ForwardOne implements Forward of a MultiModule by its ForwardAll. It fails if
// there is not one output.
func ForwardOne(m MultiModule, x *tensor.Tensor) *tensor.Tensor {
	return single(kindOf(m), m.ForwardAll([]*tensor.Tensor{x}))
}

func single(kind string, outputs []*tensor.Tensor) *tensor.Tensor {
	if len(outputs) != 1 {
		tensor.Fail(kind, views.ErrShape, "%d outputs; want one", len(outputs))
	}
	return outputs[0]
}

// nameFailure, deferred, adds the name of a module to a failure in it, unless the failure begins with it.
func nameFailure(name string) {
	switch p := recover().(type) {
	case nil:
	case *tensor.Error:
		if name == "" || name == p.Op { // of a layer called as its kind
			panic(p)
		}
		if _, err := strconv.Atoi(name); err == nil {
			name = "layer " + name
		}
		panic(&tensor.Error{Op: name + ": " + p.Op, Err: p.Err})
	default:
		panic(p)
	}
}

// CallInfo describes the call of a module.
type CallInfo struct {
	Name    string // full, as in the names of parameters
	Module  Module
	Inputs  []*tensor.Tensor
	Outputs []*tensor.Tensor
	Leaf    bool          // no module was called within
	Elapsed time.Duration // on the host; a GPU may still be at work

	// MultiplyAdds is the number of multiply-adds on [tensor.Meta], as the tape counts them.
	MultiplyAdds int
}

// Observe makes f see every Call on the tensors of t, until stop is called. If f
// returns an error, the call fails. With an observer nothing is fused across
// modules. The observer sees the modules of one goroutine at a time.
func Observe(t *tensor.Tape, f func(CallInfo) error) (stop func()) {
	observers.Store(t, &observer{see: f})
	observing.Add(1)
	return func() {
		if _, ok := observers.LoadAndDelete(t); ok {
			observing.Add(-1)
		}
	}
}

// CheckFinite fails if an output of a call has an element that is infinite or not
// a number. It is a function for Observe.
func CheckFinite(c CallInfo) error {
	for _, y := range c.Outputs {
		if !y.DType().IsFloat() {
			continue
		}
		if sum := y.Detach().MulScalar(0).Sum().Item(); sum != 0 {
			return errkind.Errorf(storage.ErrState, "an output has elements that are not finite")
		}
	}
	return nil
}

var (
	observing atomic.Int64 // number of observers
	observers sync.Map     // of *observer by *tensor.Tape
)

type observer struct {
	see   func(CallInfo) error
	path  string
	calls int
}

func observerOf(inputs []*tensor.Tensor) *observer {
	if observing.Load() == 0 || len(inputs) == 0 {
		return nil
	}
	o, ok := observers.Load(inputs[0].Tape())
	if !ok {
		return nil
	}
	return o.(*observer)
}

func (o *observer) call(name string, m Module, inputs []*tensor.Tensor) []*tensor.Tensor {
	outer, calls, tape := o.path, o.calls, inputs[0].Tape()
	o.path = join(outer, name)
	start, before := time.Now(), tape.MultiplyAdds()
	outputs := forward(m, inputs)
	info := CallInfo{o.path, m, inputs, outputs, o.calls == calls, time.Since(start), tape.MultiplyAdds() - before}
	o.path, o.calls = outer, o.calls+1
	if err := o.see(info); err != nil {
		tensor.Fail(kindOf(m), err, "%v", err)
	}
	return outputs
}
