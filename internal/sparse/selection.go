package sparse

import (
	"iter"

	"github.com/h5dnn/h5dnn/views"
)

// A selection is rows and columns of a matrix, and where their elements are written.
type selection struct {
	at            int // of the first element
	rows, columns axis
}

// An axis is n indices from start on, with a step, and how far apart they are written.
type axis struct{ start, step, n, to int }

// index returns which of the indices of a is i.
func (a axis) index(i int) (int, bool) {
	if a.step == 1 {
		i -= a.start
		return i, i >= 0 && i < a.n
	}
	if a.n == 1 {
		return 0, i == a.start
	}
	k := (i - a.start) / a.step
	return k, k >= 0 && k < a.n && a.start+k*a.step == i
}

// selections yields the parts of a view of a row-major matrix of the given number of columns, each of
// rows by columns. They are written row-major.
func selections(v views.View, columns int) iter.Seq[selection] {
	type dimension struct{ n, stride, to int }
	var dims []dimension // those longer than 1
	to := 1
	for k := v.Rank() - 1; k >= 0; k-- {
		if n := v.Shape[k]; n > 1 {
			dims = append([]dimension{{n, v.Stride[k], to}}, dims...)
			to *= n
		}
	}
	one := func(offset int) selection {
		return selection{rows: axis{offset / columns, 1, 1, 0}, columns: axis{offset % columns, 1, 1, 0}}
	}
	// add makes a dimension the rows or the columns of s, if it is.
	add := func(s selection, d dimension) (selection, bool) {
		last := s.columns.start + d.stride*(d.n-1)
		switch {
		case d.stride != 0 && d.stride%columns == 0 && s.rows.n == 1 && columns > 1:
			s.rows = axis{s.rows.start, d.stride / columns, d.n, d.to}
		case d.stride != 0 && s.columns.n == 1 && last >= 0 && last < columns:
			s.columns = axis{s.columns.start, d.stride, d.n, d.to}
		case d.stride != 0 && columns == 1 && s.rows.n == 1:
			s.rows = axis{s.rows.start, d.stride, d.n, d.to}
		default:
			return s, false
		}
		return s, true
	}
	var split func(offset, at int, dims []dimension, yield func(selection) bool) bool
	split = func(offset, at int, dims []dimension, yield func(selection) bool) bool {
		s, fits := one(offset), len(dims) <= 2
		s.at = at
		for _, d := range dims {
			if fits {
				s, fits = add(s, d)
			}
		}
		if fits {
			return yield(s)
		}
		if d := dims[0]; len(dims) == 1 && d.stride == 1 { // neighbours in several rows
			for done := 0; done < d.n; {
				n := min(d.n-done, columns-(offset+done)%columns)
				part := one(offset + done)
				part.at, part.columns.n, part.columns.to = at+done*d.to, n, d.to
				if !yield(part) {
					return false
				}
				done += n
			}
			return true
		}
		for i := range dims[0].n {
			if !split(offset+i*dims[0].stride, at+i*dims[0].to, dims[1:], yield) {
				return false
			}
		}
		return true
	}
	return func(yield func(selection) bool) { split(v.Offset, 0, dims, yield) }
}
