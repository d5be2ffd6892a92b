package tfbundle

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
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
	return storage.Array{Data: &joinedSource{b.in.Name, typ, whole, parts}, Type: typ, View: whole}, nil
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

// A joinedSource is a Source whose elements are in slices of a variable.
type joinedSource struct {
	file  string
	typ   dtype.Type
	whole views.View
	parts []slice
}

func (j *joinedSource) Len() int               { return j.whole.Len() * j.typ.Size() }
func (j *joinedSource) Device() storage.Device { return storage.File(j.file) }

// ReadView reads the rows that v selects elements of.
func (j *joinedSource) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if t != j.typ || !v.Within(j.whole.Len()) || len(dst) < v.Len()*t.Size() {
		return fmt.Errorf("%s: %v%v reaches outside %d bytes of %v: %w", j.file, t, v.Shape, j.Len(), j.typ, views.ErrShape)
	}
	if v.Len() == 0 {
		return nil
	}
	first, last := v.Bounds()
	row := j.whole.Len() / j.whole.Shape[0]
	from, to := first/row, last/row+1
	n := (to - from) * row
	if v.Contiguous() && v.Len() == n {
		return j.readRows(dst, from, to)
	}
	if n > 4*v.Len() && v.Rank() > 0 && v.Shape[0] > 1 {
		part := v.Len() / v.Shape[0] * t.Size()
		for i := range v.Shape[0] {
			selected, err := v.Select(0, i)
			if err == nil {
				err = j.ReadView(dst[i*part:][:part], t, selected)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	rows := make([]byte, n*t.Size())
	if err := j.readRows(rows, from, to); err != nil {
		return err
	}
	v.Offset -= from * row
	storage.Gather(dst, rows, t, v)
	return nil
}

// readRows reads the rows in [from, to) along the first axis.
func (j *joinedSource) readRows(dst []byte, from, to int) error {
	shape := slices.Clone(j.whole.Shape)
	shape[0] = to - from
	for _, p := range j.parts {
		rows := p.extents[0]
		start, stop := max(from, rows.start), min(to, rows.start+rows.length)
		if start >= stop {
			continue
		}
		source, target := p.entry.Array, storage.Array{Data: storage.Wrap(dst), Type: j.typ, View: views.Of(shape...)}
		var err error
		if source.View, err = source.View.Slice(0, start-rows.start, stop-rows.start, 1); err != nil {
			return err
		}
		for axis, e := range p.extents {
			if axis == 0 {
				e = extent{start - from, stop - start}
			}
			if target.View, err = target.View.Slice(axis, e.start, e.start+e.length, 1); err != nil {
				return err
			}
		}
		if err := source.CopyTo(target); err != nil {
			return err
		}
	}
	return nil
}
