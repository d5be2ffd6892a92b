package nn_test

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestMeansOfStepsThatCount gives globalavgpool1d a mask: the means are of the steps where it is 1.
func TestMeansOfStepsThatCount(t *testing.T) {
	x := tensor.FromSlice([]float32{1, 2, 6, 4, 5, 9, -1, 0, 3, 2, 8, 7}, 2, 2, 3)
	mask := tensor.FromSlice([]float32{1, 1, 0, 0, 0, 1}, 2, 3)
	y := nn.GlobalAvgPool1d{}.ForwardAll([]*tensor.Tensor{x, mask})[0]
	if got, want := tensor.Values[float32](y), []float32{1.5, 4.5, 3, 7}; !slices.Equal(got, want) || y.Rank() != 3 {
		t.Errorf("means %v of shape %v; want %v", got, y.Shape(), want)
	}
	for _, inputs := range [][]*tensor.Tensor{{x, mask, mask}, {x, mask.Slice(1, 0, 2, 1)}, {}} {
		if err := tensor.Try(func() { nn.GlobalAvgPool1d{}.ForwardAll(inputs) }); err == nil {
			t.Errorf("%d inputs are taken", len(inputs))
		}
	}
}
