package nn

import (
	"fmt"

	"github.com/h5dnn/h5dnn/tensor"
)

// Sequential applies modules one after another. Its parameters are called
// 0.weight, 0.bias, 2.weight and so on.
type Sequential []Module

// An absorbing layer can apply an activation on its way out.
type absorbing interface {
	activated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor
}

// A fusible module is an activation that an absorbing layer can apply.
type fusible interface{ fusible() tensor.Activation }

// Forward returns what the last module makes of what the one before made of … x.
func (s Sequential) Forward(x *tensor.Tensor) *tensor.Tensor {
	i := 0
	defer s.name(&i)
	for ; i < len(s); i++ {
		layer, absorbs := s[i].(absorbing)
		if act, follows := s.after(i).(fusible); absorbs && follows {
			x = layer.activated(x, act.fusible())
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

// name adds to a failure which module it happened in.
func (s Sequential) name(i *int) {
	switch p := recover().(type) {
	case nil:
	case *tensor.Error:
		panic(&tensor.Error{Op: fmt.Sprintf("layer %d: %s", *i, p.Op), Err: p.Err})
	default:
		panic(p)
	}
}

// kindOf names m's type as configurations would.
func kindOf(m Module) string {
	if _, ok := m.(Sequential); ok {
		return "sequential"
	}
	if name, ok := layers.nameOf(m); ok {
		return name
	}
	return fmt.Sprintf("%T", m)
}
