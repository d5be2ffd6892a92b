package nn

import (
	"iter"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
)

// Stateful is implemented by losses and schedules with state to save, such as
// statistics of earlier epochs.
type Stateful interface {
	State() iter.Seq2[string, storage.Array]
	Load(state iter.Seq2[string, storage.Array]) error
}

// An EpochObserver is a schedule that follows the loss of each epoch: the validation loss,
// or the training loss without validation data.
type EpochObserver interface {
	Schedule
	EndEpoch(loss float64)
}

// byName yields arrays in the order of their names.
func byName(arrays map[string]storage.Array) iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			if !yield(name, arrays[name]) {
				return
			}
		}
	}
}
