package nn_test

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestMaskingComparesInTheTypeOfFloats: a mask value that float32 rounds is found in float32.
func TestMaskingComparesInTheTypeOfFloats(t *testing.T) {
	m := nn.NewMasking(nn.MaskingOptions{MaskValue: 0.1})
	out := m.ForwardAll([]*tensor.Tensor{tensor.New([][][]float32{{{0.1, 0.1}, {0.1, 1}, {0.1, 0.1}}})})
	if mask := tensor.Values[float32](out[1]); !slices.Equal(mask, []float32{0, 1, 0}) {
		t.Errorf("mask %v; want 0 1 0", mask)
	}
}
