package nn_test

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestManualSeedRepeatsInitialWeights, as torch.manual_seed does before a model is made.
func TestManualSeedRepeatsInitialWeights(t *testing.T) {
	weights := func(seed uint64) (all []float32) {
		tensor.ManualSeed(seed)
		for range 2 {
			l := nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 2})
			all = append(all, tensor.Values[float32](l.Weight.Tensor)...)
		}
		return all
	}
	a, b, c := weights(1), weights(1), weights(2)
	if !slices.Equal(a, b) || slices.Equal(a, c) || slices.Equal(a[:6], a[6:]) {
		t.Errorf("seed 1 gives %v and %v, seed 2 %v; want the same for one seed, and two different layers", a, b, c)
	}
}
