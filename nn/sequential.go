package nn

import (
	"fmt"
	"strconv"

	"github.com/h5dnn/h5dnn/tensor"
)

// Sequential applies modules one after another. Its parameters are named
// 0.weight, 0.bias, 2.weight and so on.
type Sequential []Module

// An ActivatedLayer can apply an activation in the kernel that computes its result.
// A Sequential makes it do so for the activation that follows.
type ActivatedLayer interface {
	Module
	ForwardActivated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor
}

// A FusableActivation is an activation that an ActivatedLayer can apply.
type FusableActivation interface {
	Module
	Activation() tensor.Activation
}

// Forward applies the modules to x, from the first to the last.
func (s Sequential) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(s, x) }

// ForwardAll applies the modules, each to all outputs of the one before.
func (s Sequential) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	fuses := observerOf(inputs) == nil
	for i := 0; i < len(s); i++ {
		name := strconv.Itoa(i)
		if len(inputs) != 1 {
			inputs = Call(name, s[i], inputs...)
			continue
		}
		if _, flattened := s.after(i).(Flatten); flattened {
			inputs[0].PreferRowMajor()
		}
		layer, absorbs := s[i].(ActivatedLayer)
		if act, follows := s.after(i).(FusableActivation); fuses && absorbs && follows {
			inputs = []*tensor.Tensor{callActivated(name, layer, inputs[0], act.Activation())}
			i++
			continue
		}
		inputs = Call(name, s[i], inputs[0])
	}
	return inputs
}

func callActivated(name string, layer ActivatedLayer, x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	defer nameFailure(name)
	return layer.ForwardActivated(x, act)
}

// after returns the module after the i-th, or nil.
func (s Sequential) after(i int) Module {
	if i+1 < len(s) {
		return s[i+1]
	}
	return nil
}

// kindOf returns the name of m's type in configurations.
func kindOf(m Module) string {
	if _, ok := m.(Sequential); ok {
		return "sequential"
	}
	if name, ok := layers.nameOf(m); ok {
		return name
	}
	return fmt.Sprintf("%T", m)
}
