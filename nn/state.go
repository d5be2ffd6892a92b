package nn

import (
	"iter"

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
