package nn

import (
	"slices"
	"strconv"

	"github.com/h5dnn/h5dnn/tensor"
)

// Sequential applies modules one after another. Its parameters are named
// 0.weight, 0.bias, 2.weight and so on.
type Sequential []Module

// Forward applies the modules to x, from the first to the last.
func (s Sequential) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(s, x) }

// ForwardAll applies the modules, each to all outputs of the one before.
func (s Sequential) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	outputs, _ := s.forwardBefore(nil, inputs)
	return outputs
}

func (s Sequential) forwardBefore(next Module, inputs []*tensor.Tensor) (outputs []*tensor.Tensor, fused bool) {
	outputs = inputs
	for i, m := range s {
		if fused { // m was applied with the module before it
			fused = false
			continue
		}
		after := next
		if i+1 < len(s) {
			after = s[i+1]
		}
		last := outputs
		outputs, fused = callBefore(after, strconv.Itoa(i), m, last)
		if i > 0 {
			quietTape(inputs).Release(last, slices.Concat(inputs, outputs))
		}
	}
	return outputs, fused
}

// kindOf returns the name of m's type in configurations.
func kindOf(m Module) string {
	if _, ok := m.(Sequential); ok {
		return "sequential"
	}
	return layers.called(m)
}
