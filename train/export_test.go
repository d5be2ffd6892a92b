package train

import (
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/storage"
)

// OnlyAtTheEnd has what steps give looked at when an epoch ends, until the test does.
func OnlyAtTheEnd(t *testing.T) {
	old := stale
	stale = time.Hour
	t.Cleanup(func() { stale = old })
}

// ScaleOf returns the state of what scales r's losses.
func ScaleOf(r *Run) storage.Array { return r.scaler.Array }
