package column

import (
	"fmt"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/views"
)

// Of returns the columns of contents of a format, and the number of their rows.
func Of(format serialize.Format, c serialize.Contents) (entries []serialize.Entry, rows int, err error) {
	if entries, err = format.Columns(c); err != nil {
		return nil, 0, err
	}
	shape := entries[0].Shape()
	if len(shape) != 1 {
		return nil, 0, fmt.Errorf("%q has shape %v, and %s files hold columns; slice it, or use npz: %w", entries[0].Name, shape, format.Name, views.ErrShape)
	}
	return entries, shape[0], nil
}

// Distinct returns names for the columns of a table: their own, or, for the second and later columns of a
// name, that name with the first number after a point which no column has: "x", "x.1".
func Distinct(names []string) []string {
	taken, distinct := make(map[string]bool, len(names)), make([]string, len(names))
	for _, name := range names {
		taken[name] = true
	}
	seen, last := make(map[string]bool, len(names)), map[string]int{}
	for i, name := range names {
		distinct[i] = name
		for seen[name] && taken[distinct[i]] {
			last[name]++
			distinct[i] = fmt.Sprintf("%s.%d", name, last[name])
		}
		seen[name], taken[distinct[i]] = true, true
	}
	return distinct
}

// Add adds the entries of a column, whose names begin with that of the column, and which was called
// original in the file. Err is the error of all of them.
func Add(list *serialize.List, name, original string, entries []serialize.Entry, err error) {
	for _, e := range entries {
		if name != original {
			e.Renamed = original + e.Name[len(name):]
		}
		list.AddMarkingDuplicates(e, err)
	}
}
