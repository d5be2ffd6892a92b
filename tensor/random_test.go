package tensor_test

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestSeedsInMemoryDrawTheSame: SeedAt draws the numbers that Seed draws.
func TestSeedsInMemoryDrawTheSame(t *testing.T) {
	drop := func(seed func(tape *tensor.Tape)) (kept []float64) {
		x := leaf(40)
		err := tensor.Step(func(tape *tensor.Tape) error {
			seed(tape)
			y := tape.Input(x.Array).RequireGrad()
			for range 2 {
				key, _ := y.NextKey()
				y = y.Dropout(0.5, key)
			}
			kept = tensor.Values[float64](y)
			for _, g := range tensor.Gradients(y.Sum()) {
				kept = append(kept, tensor.Values[float64](g)...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	for _, step := range []uint64{0, 1, 7} {
		told := drop(func(tape *tensor.Tape) { tape.Seed(3, step) })
		found := drop(func(tape *tensor.Tape) { tape.SeedAt(3, storage.From([]uint64{tensor.RandomStream(step)}, 1)) })
		if !slices.Equal(told, found) {
			t.Errorf("step %d: %v told, %v found in memory", step, told, found)
		}
	}
}
