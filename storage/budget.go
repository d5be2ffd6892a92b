package storage

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/views"
)

// A Budget limits what is made of less: memory allocated at once, and elements that were
// never written or that expand beyond ExpansionRatio. A small file can declare any amount
// of either. Reading what is stored, block by block, has no limit. A nil Budget has
// the default limit for each allocation and each array.
type Budget struct {
	limit int
	made  atomic.Int64
}

// ExpansionRatio is how many bytes of elements a stored byte accounts for, which is what
// deflate reaches.
const ExpansionRatio = 1000

// NewBudget returns a budget of limit bytes, or the default budget for 0.
func NewBudget(limit int) *Budget {
	if limit == 0 {
		limit = defaultBudget()
	}
	return &Budget{limit: limit}
}

// defaultBudget is 2 GiB, or a quarter of the memory if that is less.
var defaultBudget = sync.OnceValue(func() int {
	limit := min(2<<30, memory()/4)
	text, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if n, wrong := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && wrong == nil && n > 0 {
		limit = min(limit, n/4)
	}
	return limit
})

// Limit returns the number of bytes that the budget allows.
func (b *Budget) Limit() int {
	if b == nil {
		return defaultBudget()
	}
	return b.limit
}

// Allocate returns an error of kind ErrState if n bytes must not be allocated at once for an
// array of the given stored size.
func (b *Budget) Allocate(n, stored int) error {
	if n-stored > b.Limit() {
		return &BudgetError{Bytes: n, Stored: stored, Limit: b.Limit(), AtOnce: true}
	}
	return nil
}

// Make charges n decoded bytes with the given stored size. It returns an error of kind
// ErrState if they exceed the rest of the budget.
func (b *Budget) Make(n, stored int) error {
	unbacked := int64(max(0, n-min(stored, n/ExpansionRatio+1)*ExpansionRatio))
	total := unbacked
	if b != nil {
		total = b.made.Add(unbacked)
	}
	if unbacked > 0 && total > int64(b.Limit()) {
		if b != nil {
			b.made.Add(-unbacked) // nothing was made; there may be room for less
		}
		return &BudgetError{Bytes: n, Stored: stored, Limit: b.Limit()}
	}
	return nil
}

// A BudgetError reports a demand that a budget does not allow.
type BudgetError struct {
	Bytes  int // wanted
	Stored int // of them
	Limit  int
	AtOnce bool // in memory
}

func (e *BudgetError) Error() string {
	what := "elements"
	if e.AtOnce {
		what = "memory at once"
	}
	return fmt.Sprintf("%s of %s for %s of stored data, beyond the limit of %s", byteSize(e.Bytes), what, byteSize(e.Stored), byteSize(e.Limit))
}

// Unwrap returns ErrState.
func (e *BudgetError) Unwrap() error { return ErrState }

func byteSize(n int) string {
	size, unit := float64(n), "bytes"
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, larger
	}
	return fmt.Sprintf("%.4g %s", size, unit)
}

// Unwritten returns the element that all elements of a are, if none of them was ever written.
func Unwritten(a Array) (element []byte, ok bool) {
	if source, filled := a.Data.(Filled); filled {
		return source.FillValue(a.View)
	}
	return nil, false
}

// A Filled is a Source whose elements may never have been written.
type Filled interface {
	Source
	// FillValue returns the element that all those of a view are, if none of them is stored.
	// Where that takes long to find out, it returns false.
	FillValue(v views.View) (element []byte, ok bool)
}
