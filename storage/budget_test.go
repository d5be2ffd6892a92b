package storage_test

import (
	"errors"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
)

func TestBudgetsCountWhatIsNotStored(t *testing.T) {
	b := storage.NewBudget(1000)
	for _, c := range []struct {
		n, stored int
		ok        bool
	}{{1000, 0, true}, {1001, 0, false}, {1 << 60, 1<<60 - 1000, true}, {5000, 3999, false}} {
		if err := b.Allocate(c.n, c.stored); (err == nil) != c.ok || err != nil && !errors.Is(err, storage.ErrState) {
			t.Errorf("allocate %d of %d stored: %v", c.n, c.stored, err)
		}
	}
	for _, c := range []struct {
		n, stored int
		ok        bool
	}{{1000 << 20, 1 << 20, true}, {600, 0, true}, {10_300, 10, true}, {200, 0, false}, {100, 0, true}, {5000, 5, true}} {
		if err := b.Make(c.n, c.stored); (err == nil) != c.ok {
			t.Errorf("make %d of %d stored: %v", c.n, c.stored, err)
		}
	}
	var none *storage.Budget
	if none.Allocate(1<<20, 0) != nil || none.Make(1<<50, 1<<20) == nil || none.Limit() > 2<<30 {
		t.Errorf("without a budget: limit %d", none.Limit())
	}
}
