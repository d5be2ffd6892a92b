package nn_test

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestCapturedOptimizersStepAlike compares an optimizer that reads its hyperparameters
// from memory with one that does not, while the learning rate changes.
func TestCapturedOptimizersStepAlike(t *testing.T) {
	for name, make := range map[string]func() nn.Optimizer{
		"sgd":   func() nn.Optimizer { return nn.NewSGD(nn.SGDOptions{LearningRate: 1, Momentum: 0.9}) },
		"adam":  func() nn.Optimizer { return nn.NewAdam(nn.AdamOptions{LearningRate: 1}) },
		"adamw": func() nn.Optimizer { return nn.NewAdamW(nn.AdamOptions{LearningRate: 1}) },
	} {
		train := func(captured bool) (weights []float32, steps []int64) {
			model, o := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 2})}, make()
			nn.Init(model, 5)
			initial := o.(nn.Capturable).StepArgs(nil)
			hyperparameters := storage.From(initial, len(initial))
			x, y := filled(0.5, 4, 3), storage.From([]int64{0, 1, 0, 0}, 4)
			for i := range 4 {
				o.SetRate(0.1 / float64(i+1))
				if captured {
					s := o.(nn.Capturable)
					s.SetStepArgs(tensor.StepArgs{hyperparameters})
					copy(storage.Elements[float64](hyperparameters), s.StepArgs(nil))
					o.SetRate(99) // not read in this mode
				}
				step(t, model, o, x, y)
				if captured {
					o.(nn.Capturable).CountStep()
				}
			}
			for _, p := range nn.Parameters(model) {
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
			t.Errorf("%s: %v after %v steps, captured %v after %v", name, want, count, got, counted)
		}
	}
}
