package dataset

import (
	"context"
	"sync"
)

// waiting lets workers wait for tasks.
type waiting struct {
	lock       sync.Mutex
	changed    sync.Cond
	stopWaking func() bool
}

// wakeWhenDone wakes workers when ctx is done, until stop is called.
func (w *waiting) wakeWhenDone(ctx context.Context) {
	w.changed.L = &w.lock
	w.stopWaking = context.AfterFunc(ctx, w.wake)
}

// wake makes waiting workers look for a task again.
func (w *waiting) wake() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.changed.Broadcast()
}

func (w *waiting) stop() { w.stopWaking() }
