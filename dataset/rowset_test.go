package dataset

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestRowsAreSets compares each operation on rows with the same on marks.
func TestRowsAreSets(t *testing.T) {
	const n = 40
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		marks := [2][]bool{make([]bool, n), make([]bool, n)}
		var rows [2]RowSet
		for side := range rows {
			for k := range n {
				if marks[side][k] = r.IntN(4) > side; marks[side][k] {
					rows[side] = append(rows[side], k)
				}
			}
		}
		size := 1 + r.IntN(4)
		for _, test := range []struct {
			name string
			got  RowSet
			in   func(k int) bool
		}{
			{"where", must[RowSet](t)(Where(storage.From(marks[0], n), func(b bool) bool { return b })), func(k int) bool { return marks[0][k] }},
			{"except", rows[0].Complement(n), func(k int) bool { return !marks[0][k] }},
			{"and", rows[0].Intersect(rows[1]), func(k int) bool { return marks[0][k] && marks[1][k] }},
			{"steps", rows[0].WindowStarts(size), func(k int) bool { return k+size <= n && !slices.Contains(marks[0][k:k+size], false) }},
		} {
			for k := range n {
				if got := slices.Contains(test.got, k); got != test.in(k) {
					t.Fatalf("%s of %v and %v: row %d is in it: %v, want %v", test.name, rows[0], rows[1], k, got, test.in(k))
				}
			}
			if !slices.IsSorted(test.got) || len(slices.Compact(slices.Clone(test.got))) != len(test.got) {
				t.Fatalf("%s: %v does not ascend", test.name, test.got)
			}
		}
		order := r.Perm(len(rows[0]))
		listed := make([]int64, len(order))
		for k, at := range order {
			listed[k] = int64(rows[0][at])
		}
		if got := must[RowSet](t)(NewRowSet(storage.From(listed, len(listed)), n)); !slices.Equal(got, rows[0]) {
			t.Fatalf("listed %v: %v, want %v", listed, got, rows[0])
		}
	}
}

// TestRowsOfLongArraysAreCounted looks at arrays that are read in several parts.
func TestRowsOfLongArraysAreCounted(t *testing.T) {
	const n = 1<<17 + 3
	elems := make([]int32, n)
	for k := range elems {
		elems[k] = int32(n - 1 - k)
	}
	rows := must[RowSet](t)(Where(storage.From(elems, n), func(x int32) bool { return x%1000 == 7 }))
	for k, row := range rows {
		if (n-1-row)%1000 != 7 || len(rows) != n/1000+1 || k > 0 && rows[k-1] >= row {
			t.Fatalf("row %d is the %d-th of %d", row, k, len(rows))
		}
	}
	if got := must[RowSet](t)(NewRowSet(storage.From(elems, n), n)); len(got.Complement(n)) != 0 {
		t.Errorf("a list of all rows leaves %v", got.Complement(n))
	}
}

// TestMisshapenRowsAreRefused lists what files may get wrong about rows.
func TestMisshapenRowsAreRefused(t *testing.T) {
	ints := func(elems ...int64) storage.Array { return storage.From(elems, len(elems)) }
	values := storage.From(make([]float32, 6), 6)
	padded := func(r Ragged, err error) error {
		if err == nil {
			var a storage.Array
			if a, err = r.Padded(0); err == nil {
				_, err = a.To(storage.CPU)
			}
		}
		return err
	}
	for _, test := range []struct {
		want string
		err  error
	}{
		{"row 7 of 5 samples", second(NewRowSet(ints(1, 7), 5))},
		{"row 2 is listed twice", second(NewRowSet(ints(2, 1, 2), 5))},
		{"at most 2 integers", second(NewRowSet(ints(2, 1, 0), 2))},
		{"want a one-dimensional array", second(Where(storage.From(make([]bool, 4), 2, 2), func(bool) bool { return true }))},
		{"windows of 7 rows", second(SlidingWindows(values, 7))},
		{"windows of 0 rows", second(SlidingWindows(values, 0))},
		{"want a one-dimensional array of integers", second(Offsets("x", values, values))},
		{"offsets 0 … 7 into 6 values", second(Offsets("x", values, ints(0, 7)))},
		{"offsets -1 … 6", second(Offsets("x", values, ints(-1, 6)))},
		{"want them to ascend", second(Offsets("x", values, ints(0, 4, 2, 6)))},
		{"rows of 0 float32", padded(Offsets("x", values, ints(0, 0, 0)))},
		{"index 9 of a stored element, of 6", padded(Sparse("x", values, ints(0, 1, 2, 3, 4, 9), ints(0, 6), 6))},
		{"index -1", padded(Sparse("x", values, ints(0, 1, 2, 3, 4, -1), ints(0, 6), 6))},
		{"as many integers as values", second(Sparse("x", values, ints(0, 1), ints(0, 6), 3))},
	} {
		if test.err == nil || !errors.Is(test.err, views.ErrShape) && !errors.Is(test.err, dtype.ErrType) || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("%v, want an error with %q", test.err, test.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }
