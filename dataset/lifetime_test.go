package dataset

import (
	"errors"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
)

// TestOrderYieldsTheRowsOfTheEpoch compares the rows of Order with those of Epoch.
func TestOrderYieldsTheRowsOfTheEpoch(t *testing.T) {
	eachLoader(t, func(t *testing.T, s specimen, o Options) {
		l := must[*Loader](t)(NewLoader(s.d, o))
		o.OrderOnly = true
		order := must[*Loader](t)(NewLoader(s.d, o))
		if p := order.Plan(); p.Memory != 0 || p.Shuffle != l.Plan().Shuffle || p.Window != l.Plan().Window {
			t.Fatalf("plan %+v of the order only, %+v of the epoch", p, l.Plan())
		}
		for _, start := range []int{0, s.d.Len() / 3} {
			want := rows(t, l, 1, start, s)
			var got []int
			for rows, next := range order.Order(1, start) {
				if got = append(got, rows...); next != start+len(got) {
					t.Fatalf("next is %d after %d samples from %d on", next, len(got), start)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("rows %v, want %v", got, want)
			}
		}
	})
}

// TestBatchesAreValidForTheirLifetime compares batches again at the end of their lifetime.
func TestBatchesAreValidForTheirLifetime(t *testing.T) {
	const lifetime = 3

	for _, s := range specimens(t, 101) {
		l := must[*Loader](t)(NewLoader(s.d, Options{BatchSize: 4, Lifetime: lifetime}))
		for epoch := range 2 {
			var last []*Batch
			var order [][]int
			for b, err := range l.Epoch(t.Context(), epoch, 0) {
				if err != nil {
					t.Fatal(err)
				}
				last, order = append(last, b), append(order, slices.Clone(b.Rows))
				if first := len(last) - 1 - lifetime; first >= 0 {
					if !slices.Equal(last[first].Rows, order[first]) {
						t.Fatalf("%s: a batch was of rows %v, and %d iterations later of %v", s.name, order[first], lifetime, last[first].Rows)
					}
					checkSamples(t, last[first], s)
				}
			}
		}
	}
}

// TestBatchesUseTheAllocator counts the memory that is asked for.
func TestBatchesUseTheAllocator(t *testing.T) {
	x, y := pairs(50)
	allocated := map[storage.Storage]bool{}
	l := must[*Loader](t)(NewLoader(must[Dataset](t)(FromArrays(input("x", x), target("y", y))), Options{BatchSize: 8, Alloc: func(size int) (storage.Host, error) {
		s, err := storage.CPU.Alloc(size)
		allocated[s] = true
		return s.(storage.Host), err
	}}))
	for b, err := range l.Epoch(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range b.Fields {
			if !allocated[f.Data] {
				t.Fatalf("%v is not in memory from Alloc", f)
			}
		}
		checkPairs(t, b, same)
		if b.Consumed == 8 {
			b.Retain() // the loader allocates another
		}
	}
}

// TestFailedAllocationsAreErrors lets the allocation of a batch fail that replaces a
// retained one: the retained batch is unchanged, and a later epoch is complete.
func TestFailedAllocationsAreErrors(t *testing.T) {
	x, y := pairs(100)
	errFull, full := errors.New("no memory"), false
	l := must[*Loader](t)(NewLoader(must[Dataset](t)(FromArrays(input("x", x), target("y", y))), Options{BatchSize: 10, Alloc: func(size int) (storage.Host, error) {
		if full {
			return nil, errFull
		}
		s, err := storage.CPU.Alloc(size)
		return s.(storage.Host), err
	}}))
	var kept *Batch
	var failed error
	for b, err := range l.Epoch(t.Context(), 0, 0) {
		if failed = err; err == nil {
			full, kept = true, b
			b.Retain()
		}
	}
	if !errors.Is(failed, errFull) {
		t.Errorf("the epoch ends with error %v; want %v", failed, errFull)
	}
	order := slices.Clone(kept.Rows)
	for _, err := range l.Epoch(t.Context(), 1, 0) {
		if !errors.Is(err, errFull) {
			t.Errorf("the next epoch begins with error %v; want %v", err, errFull)
		}
	}
	full = false
	if got := len(rows(t, l, 2, 0, specimen{origin: same})); got != 100 || !slices.Equal(kept.Rows, order) {
		t.Errorf("%d samples in a later epoch; the retained batch has rows %v, had %v", got, kept.Rows, order)
	}
	checkPairs(t, kept, same)
}
