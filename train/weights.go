package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/storage"
)

// weights yields the parameters and buffers of the model, and the moving averages.
func (r *Run) weights(yield func(string, storage.Array) bool) {
	for _, part := range r.parts() {
		if part.prefix != "model/" && part.prefix != "ema/" {
			continue
		}
		for name, a := range part.arrays {
			if !yield(part.prefix+name, a) {
				return
			}
		}
	}
}

// savedWeights is a copy of the weights of a run, in host memory.
type savedWeights map[string]storage.Array

// take copies the weights of r.
func (w savedWeights) take(r *Run) error { return w.copy(r.weights) }

// copy copies arrays to w, in memory that w has.
func (w savedWeights) copy(arrays named) (err error) {
	for name, a := range arrays {
		to, ok := w[name]
		if !ok || to.Type != a.Type || !slices.Equal(to.Shape, a.Shape) {
			if to, err = storage.Make(storage.CPU, a.Type, a.Shape...); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			w[name] = to
		}
		if err := a.CopyTo(to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// restore copies w to the weights of r.
func (w savedWeights) restore(r *Run) error {
	for name, to := range r.weights {
		from, ok := w[name]
		if !ok || !slices.Equal(from.Shape, to.Shape) {
			return fmt.Errorf("no copy of %s %v: %w", strings.TrimPrefix(name, "model/"), to.Shape, storage.ErrState)
		}
		if err := from.CopyTo(to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
