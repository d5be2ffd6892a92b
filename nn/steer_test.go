package nn_test

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestSteeredOptimizersStepAlike wants an optimizer that finds its rate and count
// in memory to do what it does without, though its rate changes.
func TestSteeredOptimizersStepAlike(t *testing.T) {
	for name, make := range map[string]func() nn.Optimizer{
		"sgd":   func() nn.Optimizer { return nn.NewSGDOf(nn.SGDSet{LearningRate: 1, Momentum: 0.9}) },
		"adam":  func() nn.Optimizer { return nn.NewAdam(1) },
		"adamw": func() nn.Optimizer { return nn.NewAdamW(1) },
	} {
		train := func(steered bool) (weights []float32, steps []int64) {
			model, o := nn.Sequential{nn.NewLinear(3, 2)}, make()
			nn.Init(model, 5)
			dials := storage.From([]float64{0, 0, 0}, 3)
			x, y := filled(0.5, 4, 3), storage.From([]int64{0, 1, 0, 0}, 4)
			for i := range 4 {
				o.SetRate(0.1 / float64(i+1))
				if steered {
					s := o.(nn.Steerable)
					s.Steer(tensor.StepArgs{dials})
					next := s.Advance()
					copy(storage.Elements[float64](dials), next[:])
					o.SetRate(99) // is not looked at any more
				}
				step(t, model, o, x, y)
			}
			for _, p := range nn.Params(model) {
				weights = append(weights, tensor.Values[float32](p.Tensor)...)
			}
			for name, a := range o.State() {
				if name == "step" {
					steps = storage.Elements[int64](a)
				}
			}
			return weights, steps
		}
		want, count := train(false)
		got, counted := train(true)
		if !slices.Equal(got, want) || !slices.Equal(count, counted) {
			t.Errorf("%s: %v after %v steps, steered %v after %v", name, want, count, got, counted)
		}
	}
}
