package tensor_test

import (
	"errors"
	"slices"
	"strings"
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
			y := tape.Input(x.Array()).RequireGrad()
			for range 2 {
				key, _ := y.NextKey()
				y = y.Dropout(0.5, key).Add(tensor.RandnLike(y)).Add(tensor.RandLike(y))
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

// TestStepsShareNoKeys: a step gets 65,535 keys, whichever way it is seeded, and fails for the
// next, which would be followed by the first key of another step.
func TestStepsShareNoKeys(t *testing.T) {
	const most = 65535
	base := storage.From([]uint64{0}, 1)
	for name, seed := range map[string]func(tape *tensor.Tape){
		"seeded":             func(tape *tensor.Tape) { tape.Seed(3, 7) },
		"seeded from memory": func(tape *tensor.Tape) { tape.SeedAt(3, base) },
		"unseeded":           func(*tensor.Tape) {},
	} {
		draws := 0
		var first, last tensor.Key
		err := tensor.Step(func(tape *tensor.Tape) error {
			seed(tape)
			x := tape.Input(storage.From([]float32{1}, 1))
			for draws = 0; draws < 2*most; draws++ {
				if last, _ = x.NextKey(); draws == 0 {
					first = last
				}
			}
			return nil
		})
		if !errors.Is(err, tensor.ErrState) || draws != most || last.Stream != first.Stream+most-1 {
			t.Errorf("%s: error %v after %d keys, streams %x to %x; want one after %d", name, err, draws, first.Stream, last.Stream, most)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "random: a step draws more than 65535 keys") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
