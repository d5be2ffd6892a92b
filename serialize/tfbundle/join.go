package tfbundle

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A slice is part of a partitioned variable.
type slice struct {
	key     string
	extents []extent // one for each axis
	entry   serialize.Entry
	err     error
}

// maxSlices bounds the slices of one variable, each two of which are compared.
const maxSlices = 4096

// join returns the variable of a shape whose slices are parts, or an error of kind
// dtype.ErrType if they do not make up the variable.
func (b *bundle) join(name string, typ dtype.Type, shape []int, parts []slice) (storage.Array, error) {
	refuse := func(format string, args ...any) (storage.Array, error) {
		return storage.Array{}, fmt.Errorf("its slices %s; read them one by one as %s/START:END,…: %w", fmt.Sprintf(format, args...), name, dtype.ErrType)
	}
	whole, err := views.New(shape, maxLen)
	if err != nil {
		return storage.Array{}, err
	}
	if len(parts) == 0 {
		return storage.Array{}, fmt.Errorf("its slices are missing: %w", storage.ErrState)
	}
	if len(parts) > maxSlices {
		return refuse("are more than %d", maxSlices)
	}
	covered := 0
	for i, p := range parts {
		a := p.entry.Array
		if p.err != nil || a.Type != typ || len(p.extents) != len(shape) {
			return refuse("are not all arrays of %v", typ)
		}
		for axis := range shape {
			e := &p.extents[axis]
			if e.length < 0 {
				*e = extent{0, shape[axis]}
			}
			if e.start > shape[axis] || e.length > shape[axis]-e.start || a.Shape[axis] != e.length {
				return refuse("do not fit its shape %v", shape)
			}
		}
		if slices.ContainsFunc(parts[:i], p.overlaps) {
			return refuse("overlap")
		}
		covered += a.Len()
	}
	if covered != whole.Len() {
		return refuse("have %d of its %d elements", covered, whole.Len())
	}
	return blocks.Compute(typ, shape, func(dst storage.Array, b views.Box) error {
		for _, p := range parts {
			if err := p.copyTo(dst, b); err != nil {
				return err
			}
		}
		return nil
	}), nil
}

// copyTo copies the elements of the slice that are in a box of the variable to dst, which has the box's shape.
func (p slice) copyTo(dst storage.Array, b views.Box) error {
	for axis, e := range p.extents {
		var first, end int
		b, first, end = b.Between(axis, e.start, e.start+e.length)
		dst.View = dst.View.Narrow(axis, first, end)
	}
	if dst.Len() == 0 {
		return nil
	}
	return p.entry.Array.With(b.Of(p.entry.Array.View)).CopyTo(dst)
}

// overlaps reports whether p and q have elements in common.
func (p slice) overlaps(q slice) bool {
	for axis, e := range p.extents {
		f := q.extents[axis]
		if e.start+e.length <= f.start || f.start+f.length <= e.start {
			return false
		}
	}
	return true
}
