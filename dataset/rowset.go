package dataset

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A RowSet is the indices of some samples, ascending and without duplicates: the
// rows that a filter selects, or one side of a split.
type RowSet []int

// Where returns the indices of the elements of a one-dimensional array for which keep
// returns true.
func Where[T dtype.Go](a storage.Array, keep func(T) bool) (RowSet, error) {
	if a.Rank() != 1 {
		return nil, fmt.Errorf("dataset: rows of %v%v; want a one-dimensional array: %w", a.Type, a.Shape, views.ErrShape)
	}
	rows := RowSet{}
	return rows, forEachPart(a, func(elems []T, first int) error {
		for k, elem := range elems {
			if keep(elem) {
				rows = append(rows, first+k)
			}
		}
		return nil
	})
}

// NewRowSet returns the rows whose indices a lists, in any order, of a dataset of n.
func NewRowSet(a storage.Array, n int) (RowSet, error) {
	if a.Rank() != 1 || !a.Type.IsInt() || a.Shape[0] > n {
		return nil, fmt.Errorf("dataset: row indices %v%v; want at most %d integers: %w", a.Type, a.Shape, n, views.ErrShape)
	}
	rows := make(RowSet, 0, a.Shape[0])
	err := forEachPart(a, func(elems []int64, _ int) error {
		for _, elem := range elems {
			rows = append(rows, int(elem))
		}
		return checkRows(rows[len(rows)-len(elems):], n)
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(rows)
	for k := 1; k < len(rows); k++ {
		if rows[k] == rows[k-1] {
			return nil, fmt.Errorf("dataset: row %d is listed twice: %w", rows[k], views.ErrShape)
		}
	}
	return rows, nil
}

// Complement returns the rows of a dataset of n that are not in r.
func (r RowSet) Complement(n int) RowSet {
	rest := make(RowSet, 0, max(0, n-len(r)))
	for row := range n {
		if len(r) > 0 && r[0] == row {
			r = r[1:]
			continue
		}
		rest = append(rest, row)
	}
	return rest
}

// Intersect returns the rows that are in both r and s.
func (r RowSet) Intersect(s RowSet) RowSet {
	both := RowSet{}
	for _, row := range r {
		for len(s) > 0 && s[0] < row {
			s = s[1:]
		}
		if len(s) > 0 && s[0] == row {
			both = append(both, row)
		}
	}
	return both
}

// WindowStarts returns the rows that start a window of n consecutive rows, all of
// them in r: the windows of [SlidingWindows] that use no other rows.
func (r RowSet) WindowStarts(n int) RowSet {
	starts := RowSet{}
	for k := 0; k+n <= len(r); k++ {
		if r[k+n-1] == r[k]+n-1 {
			starts = append(starts, r[k])
		}
	}
	return starts
}

// forEachPart calls f with the elements of a as Ts, a part of the first axis at a time.
func forEachPart[T dtype.Go](a storage.Array, f func(elems []T, first int) error) error {
	const part = 1 << 16
	for first := 0; first < a.Shape[0]; first += part {
		elems, err := storage.Read[T](a.With(samples(a.View, first, min(part, a.Shape[0]-first))))
		if err == nil {
			err = f(elems, first)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
