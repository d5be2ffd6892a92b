package column

import (
	"fmt"
	"io"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// MissingList is in Values.Lists for a list that is missing.
const MissingList = -1

// Lists is a column of lists of numbers or strings. It is an array of more axes if all lists have
// the same length, and else two columns: the elements of all lists, and where each begins.
type Lists struct {
	*Table
	Kind
	Inner  []int      // the shape of each element; nil for a number or string
	Most   int        // numbers or strings, at most
	Stored func() int // bytes
	// Start returns a function that appends the elements of one page after the other, and the
	// lengths of the lists that end in it. At the end it returns io.EOF.
	Start func() func(*Values) error
}

// listStats are what an array of lists depends on.
type listStats struct {
	lists, elements int
	length          int // of all lists that are not missing; negative if they differ
	missing         int // lists
	missingElement  bool
	exact           bool // all elements are float64s
}

// Entries returns a column as one array, or as name/values, name/offsets and, if lists are
// missing, name/missing. List i of a ragged column is values[offsets[i]:offsets[i+1]], which is
// empty for a missing one; a missing row of an array is filled with what stands for missing
// elements. Lists are decoded to find out.
func (l *Lists) Entries(name string) ([]serialize.Entry, error) {
	s, err := l.examine()
	if err != nil {
		e, _ := serialize.Unsupported(name, []int{l.Rows}, "list")
		return []serialize.Entry{e}, err
	}
	elements := &Column{Table: l.Table, Kind: l.Kind, Missing: s.missingElement, Exact: s.exact, Stored: l.Stored, Start: l.Start}
	if s.length > 0 {
		elements.Shape = slices.Concat([]int{l.Rows, s.length}, l.Inner)
		if s.missing > 0 {
			elements.Missing, elements.Start = true, func() func(*Values) error { return l.filled(s.length) }
		}
		e, err := elements.Entry(name)
		if err == nil { // missing lists are filled
			err = l.In.Budget.Make(e.Array.Len()*8, l.Stored())
		}
		return []serialize.Entry{e}, err
	}
	elements.Shape = slices.Concat([]int{s.elements}, l.Inner)
	offsets := &Column{Table: l.Table, Kind: Kind{Type: dtype.Int64}, Shape: []int{l.Rows + 1}, Stored: l.Stored, Start: l.offsets}
	columns, names := []*Column{elements, offsets}, []string{"/values", "/offsets"}
	if s.missing > 0 {
		columns = append(columns, &Column{Table: l.Table, Kind: Kind{Type: dtype.Bool}, Stored: l.Stored, Start: l.missing})
		names = append(names, "/missing")
	}
	var list []serialize.Entry
	for i, c := range columns {
		e, err := c.Entry(name + names[i])
		if err != nil {
			return []serialize.Entry{e}, err
		}
		list = append(list, e)
	}
	return list, nil
}

// inner returns the number of numbers or strings of an element.
func (l *Lists) inner() int {
	n := 1
	for _, size := range l.Inner {
		n *= size
	}
	return n
}

// examine decodes the column.
func (l *Lists) examine() (s listStats, err error) {
	s.exact = true
	if err := l.In.Budget.Make(16*max(l.Rows, l.Most), l.Stored()); err != nil {
		return s, err
	}
	found, page := 0, &Values{}
	for next := l.Start(); ; {
		if err := l.In.Err(); err != nil {
			return s, err
		}
		page.Numbers, page.Texts, page.Missing, page.Lists = page.Numbers[:0], page.Texts[:0], page.Missing[:0], page.Lists[:0]
		if err := next(page); err == io.EOF {
			break
		} else if err != nil {
			return s, err
		}
		for _, n := range page.Lists {
			if n == MissingList {
				s.missing++
				continue
			}
			if found++; found == 1 {
				s.length = n
			} else if n != s.length {
				s.length = -1
			}
		}
		s.lists += len(page.Lists)
		s.elements += l.Kind.Len(page)
		s.missingElement = s.missingElement || len(page.Missing) > 0
		if l.Kind.Type.Valid() && !l.Kind.hasMissing() {
			s.exact = s.exact && l.Kind.exact(page)
		}
	}
	if s.lists != l.Rows || s.elements%max(1, l.inner()) != 0 {
		return s, fmt.Errorf("%d lists in %d rows: %w", s.lists, l.Rows, storage.ErrState)
	}
	s.elements /= max(1, l.inner())
	return s, nil
}

// filled returns a function that appends pages in which missing lists have a length, too.
func (l *Lists) filled(length int) func(*Values) error {
	next, pending := l.Start(), &Values{}
	return func(d *Values) error {
		if err := next(pending); err != nil {
			return err
		}
		at, missing := 0, pending.Missing
		for _, n := range pending.Lists {
			if n == MissingList {
				for range length * l.inner() {
					l.Kind.AppendMissing(d)
				}
				continue
			}
			for range n * l.inner() {
				if len(missing) > 0 && missing[0] == at {
					missing = missing[1:]
					d.Missing = append(d.Missing, l.Kind.Len(d))
				}
				l.Kind.Append(d, pending, at)
				at++
			}
		}
		rest := &Values{}
		for i := at; i < l.Kind.Len(pending); i++ { // of a list that ends in another page
			if len(missing) > 0 && missing[0] == i {
				missing = missing[1:]
				rest.Missing = append(rest.Missing, l.Kind.Len(rest))
			}
			l.Kind.Append(rest, pending, i)
		}
		pending = rest
		return nil
	}
}

// offsets returns a function that appends the offsets of lists.
func (l *Lists) offsets() func(*Values) error {
	total, first := int64(0), true
	return l.each(func(d *Values, n int) {
		total += int64(max(0, n))
		d.Numbers = append(d.Numbers, dtype.Bytes([]int64{total})...)
	}, func(d *Values) {
		if first {
			d.Numbers = append(d.Numbers, make([]byte, 8)...)
		}
		first = false
	})
}

// missing returns a function that appends whether lists are missing.
func (l *Lists) missing() func(*Values) error {
	return l.each(func(d *Values, n int) {
		missing := byte(0)
		if n == MissingList {
			missing = 1
		}
		d.Numbers = append(d.Numbers, missing)
	}, func(*Values) {})
}

// each returns a function that calls begin with each page, and use with each list of it.
func (l *Lists) each(use func(d *Values, n int), begin func(d *Values)) func(*Values) error {
	next, page := l.Start(), &Values{}
	ended := false
	return func(d *Values) error {
		if ended {
			return io.EOF
		}
		page.Numbers, page.Texts, page.Missing, page.Lists = page.Numbers[:0], page.Texts[:0], page.Missing[:0], page.Lists[:0]
		err := next(page)
		if err != nil && err != io.EOF {
			return err
		}
		begin(d)
		for _, n := range page.Lists {
			use(d, n)
		}
		ended = err == io.EOF
		return nil
	}
}
