package nn

import "github.com/h5dnn/h5dnn/tensor"

// An ActivatedLayer can apply an activation in the kernel that computes its result.
// Sequential and Graph make it do so for an activation that alone uses its result.
type ActivatedLayer interface {
	Module
	ForwardActivated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor
}

// A FusableActivation is an activation that an ActivatedLayer can apply.
type FusableActivation interface {
	Module
	Activation() tensor.Activation
}

// A fusingModule contains modules, of which the last can be fused with the module after
// it.
type fusingModule interface {
	Module
	// forwardBefore is callBefore for the module itself.
	forwardBefore(next Module, inputs []*tensor.Tensor) (outputs []*tensor.Tensor, fused bool)
}

// callBefore is Call for a module whose result next alone uses, if next is not nil. All
// fusion across modules is decided here. It reports whether the outputs are those of
// next, an activation that was applied in the kernel of m.
//
// In a step that records nothing, the memory of intermediate results is given back.
func callBefore(next Module, name string, m Module, inputs []*tensor.Tensor) (outputs []*tensor.Tensor, fused bool) {
	outputs = quietTape(inputs).Scope(func() (out []*tensor.Tensor) {
		out, fused = callJoined(next, name, m, inputs)
		return out
	})
	return outputs, fused
}

// quietTape returns the step of inputs, or nil outside of steps and where calls are observed: an observer may
// read what it was shown until the step ends.
func quietTape(inputs []*tensor.Tensor) *tensor.Tape {
	if observerOf(inputs) != nil {
		return nil
	}
	for _, x := range inputs {
		if t := x.Tape(); t != nil {
			return t
		}
	}
	return nil
}

func callJoined(next Module, name string, m Module, inputs []*tensor.Tensor) (outputs []*tensor.Tensor, fused bool) {
	if len(inputs) != 1 || next == nil {
		return Call(name, m, inputs...), false
	}
	if _, flattens := next.(Flatten); flattens {
		inputs[0].PreferRowMajor()
	}
	if observerOf(inputs) != nil {
		return Call(name, m, inputs...), false
	}
	defer nameFailure(name)
	switch m := m.(type) {
	case fusingModule:
		return m.forwardBefore(next, inputs)
	case ActivatedLayer:
		if act, ok := next.(FusableActivation); ok {
			return []*tensor.Tensor{m.ForwardActivated(inputs[0], act.Activation())}, true
		}
	}
	return forward(m, inputs), false
}
