package dataset

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
)

// TestRowsAreThoseOfTheEpoch wants Rows to tell, without reading, what Epoch brings.
func TestRowsAreThoseOfTheEpoch(t *testing.T) {
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
			for rows, next := range order.Rows(1, start) {
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

// TestHeldBatchesStay looks at batches again as late as they are said to be valid.
func TestHeldBatchesStay(t *testing.T) {
	const held = 3

	for _, s := range specimens(t, 101) {
		l := must[*Loader](t)(NewLoader(s.d, Options{Batch: 4, Held: held}))
		for epoch := range 2 {
			var last []*Batch
			var order [][]int
			for b, err := range l.Epoch(t.Context(), epoch, 0) {
				if err != nil {
					t.Fatal(err)
				}
				last, order = append(last, b), append(order, slices.Clone(b.Rows))
				if first := len(last) - 1 - held; first >= 0 {
					if !slices.Equal(last[first].Rows, order[first]) {
						t.Fatalf("%s: a batch was of rows %v, and %d turns later of %v", s.name, order[first], held, last[first].Rows)
					}
					checkSamples(t, last[first], s)
				}
			}
		}
	}
}

// TestBatchesLieWhereTheyAreToldTo counts the memory that is asked for.
func TestBatchesLieWhereTheyAreToldTo(t *testing.T) {
	x, y := pairs(50)
	given := map[storage.Storage]bool{}
	l := must[*Loader](t)(NewLoader(must[Dataset](t)(Of(Named{"x", x}, Named{"y", y})), Options{Batch: 8, Alloc: func(size int) (storage.Host, error) {
		s, err := storage.CPU.Alloc(size)
		given[s] = true
		return s.(storage.Host), err
	}}))
	for b, err := range l.Epoch(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range b.Fields {
			if !given[f.Data] {
				t.Fatalf("%v lies elsewhere", f)
			}
		}
		checkPairs(t, b, same)
		if b.Next == 8 {
			b.Keep() // the one in its place lies there, too
		}
	}
}
