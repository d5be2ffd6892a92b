package train

import (
	"errors"
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// ErrMoved is the kind of error for data that a run file names and that is not there.
var ErrMoved = errors.New("name the file in data.file")

// A LayoutError reports images whose sizes do not fit the model, and the layout that
// they may have instead.
type LayoutError struct {
	Err    error
	Layout string
}

func (e *LayoutError) Error() string {
	text := strings.TrimSuffix(e.Err.Error(), ": "+views.ErrShape.Error())
	return fmt.Sprintf("%s; data.layout: %s takes them otherwise", text, e.Layout)
}

func (e *LayoutError) Unwrap() error { return e.Err }

// An Assumption is what a run assumed of its data because the configuration does not
// say.
type Assumption struct {
	Text           string
	Setting, Value string // of Config.Data that would say otherwise, if there is one
}

func (a Assumption) String() string {
	if a.Setting == "" {
		return a.Text
	}
	return fmt.Sprintf("%s; data.%s: %s says otherwise", a.Text, a.Setting, a.Value)
}

// A MemoryError reports that a run needs more memory than there is, and which
// settings would make it need less.
type MemoryError struct {
	Err error // of kind dataset.ErrMemory or storage.ErrMemory
	// Loading is whether the limit was Config.Data.Memory, which may be raised.
	// Otherwise the device's memory was not enough, and the other fields say what
	// would help.
	Loading   bool
	Resident  bool   // all samples are on the device; data.resident: no leaves them where they are
	BatchSize int    // samples in a batch; a smaller one helps if it is more than 1
	Precision string // a precision that takes less memory, or ""
}

func (e *MemoryError) Error() string {
	if e.Loading {
		return fmt.Sprintf("%v; a larger data.memory_mb allows more", e.Err)
	}
	var ways []string
	if e.Resident {
		ways = append(ways, "data.resident: no")
	}
	if e.BatchSize > 1 {
		ways = append(ways, fmt.Sprintf("a batch below %d", e.BatchSize))
	}
	if e.Precision != "" {
		ways = append(ways, "precision: "+e.Precision)
	}
	if len(ways) == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v; this run takes less with %s", e.Err, strings.Join(ways, ", "))
}

func (e *MemoryError) Unwrap() error { return e.Err }

// adviseMemory returns err as a MemoryError if it is about memory.
func (t *trainer) adviseMemory(err error) error {
	switch {
	case errors.Is(err, dataset.ErrMemory):
		return &MemoryError{Err: err, Loading: true}
	case errors.Is(err, storage.ErrMemory):
		e := &MemoryError{Err: err, Resident: t.plan.Resident, BatchSize: t.r.Config.BatchSize}
		if precisions[t.r.Config.Precision] == dtype.Invalid && t.r.Device != storage.CPU {
			e.Precision = "bf16"
		}
		return e
	}
	return err
}
