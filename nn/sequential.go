package nn

import (
	"fmt"

	"github.com/h5dnn/h5dnn/tensor"
)

// Sequential applies modules one after another. Its parameters are named
// 0.weight, 0.bias, 2.weight and so on.
type Sequential []Module

// An activatedLayer can apply an activation to its result in place.
type activatedLayer interface {
	activated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor
}

// An activation is a module that an activatedLayer can apply.
type activation interface{ fused() tensor.Activation }

// Forward applies the modules to x, from the first to the last.
func (s Sequential) Forward(x *tensor.Tensor) *tensor.Tensor {
	i := 0
	defer s.nameFailure(&i)
	for ; i < len(s); i++ {
		layer, fuses := s[i].(activatedLayer)
		if act, follows := s.after(i).(activation); fuses && follows {
			x = layer.activated(x, act.fused())
			i++
			continue
		}
		if _, flattened := s.after(i).(Flatten); flattened {
			x.PreferRowMajor()
		}
		x = s[i].Forward(x)
	}
	return x
}

// after returns the module after the i-th, or nil.
func (s Sequential) after(i int) Module {
	if i+1 < len(s) {
		return s[i+1]
	}
	return nil
}

// nameFailure adds the index of the module to a failure.
func (s Sequential) nameFailure(i *int) {
	switch p := recover().(type) {
	case nil:
	case *tensor.Error:
		panic(&tensor.Error{Op: fmt.Sprintf("layer %d: %s", *i, p.Op), Err: p.Err})
	default:
		panic(p)
	}
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
