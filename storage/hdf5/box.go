package hdf5

import (
	"slices"

	"github.com/h5dnn/h5dnn/views"
)

// A transfer reads the elements in a box of a dataset to where a view selects them in a buffer. Both have
// the axes of the dataset, followed by the axes of its elements.
type transfer struct {
	from views.Box
	to   views.View
}

// part returns the part of a transfer whose indices along an axis are from first to end-1.
func (p transfer) part(axis, first, end int) transfer {
	from := views.Box{Start: slices.Clone(p.from.Start), Count: slices.Clone(p.from.Count), Step: p.from.Step}
	from.Start[axis] += first * from.Step[axis]
	from.Count[axis] = end - first
	return transfer{from, p.to.Narrow(axis, first, end)}
}
