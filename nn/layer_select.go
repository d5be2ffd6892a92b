package nn

import "github.com/h5dnn/h5dnn/tensor"

// SelectOptions are the settings of a Select.
type SelectOptions struct {
	Index int `json:"index"`          // from 0, or from −1 backwards
	Axis  int `json:"axis,omitempty"` // 1 if 0
}

// Select takes one index of an axis, such as the class token of (N, T, features) or the last of its steps: (N, features).
type Select struct{ SelectOptions }

var selectDefaults = SelectOptions{Axis: 1}

// NewSelect returns a Select.
func NewSelect(o SelectOptions) Select { return newSelect(withDefaults(o, selectDefaults)) }

func newSelect(o SelectOptions) Select {
	if o.Axis == 0 {
		tensor.Fail("select", ErrConfig, "axis 0 has the samples; want another")
	}
	return Select{o}
}

// Forward returns x without the axis.
func (s Select) Forward(x *tensor.Tensor) *tensor.Tensor {
	axis, index := s.Axis, s.Index
	if axis == 0 {
		axis = selectDefaults.Axis
	}
	if index < 0 && axis < x.Rank() && axis >= -x.Rank() {
		index += x.Shape()[(axis+x.Rank())%x.Rank()]
	}
	return x.Select(axis, index)
}

var _ = RegisterLayer("select", newSelect, selectDefaults)
