package hdf5write

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"
)

// elsewhere returns the creation properties of a dataset whose elements are in other
// datasets or in external files: the same mappings, to the same names. No other file is
// opened.
func (r *repacker) elsewhere(t *target) (id libhdf5.ID, err error) {
	if id, err = libhdf5.NewProperties(); err != nil {
		return 0, err
	}
	for _, e := range t.External {
		if err == nil {
			r.noteMoved(t.Path, e.Name)
			err = id.AddExternal(e.Name, e.Offset, e.Size)
		}
	}
	for k, m := range t.VirtualSources() {
		if err == nil {
			if k == 0 || m.File != t.VirtualSources()[k-1].File {
				r.noteMoved(t.Path, m.File)
			}
			err = r.addMapping(id, t, m)
		}
	}
	if err != nil {
		id.Close()
		return 0, fmt.Errorf("%s: %w", t.Path, err)
	}
	return id, nil
}

// addMapping adds a mapping. Files do not store the shape of a source; libhdf5 takes any
// that the selection fits.
func (r *repacker) addMapping(id libhdf5.ID, t *target, m hdf5.VirtualSource) error {
	dataset := m.Dataset
	if m.File == "." {
		inside, ok := r.target(dataset)
		if !ok {
			r.note(t.Path, "its source %s is outside of %s", dataset, r.base)
		} else {
			dataset = inside
		}
	}
	to := libSelection(m.To, t.Shape)
	to.MaxShape = t.layout.MaxShape
	shape := m.From.Bounds(t.Shape)
	if m.From.Kind == hdf5.SelectAll {
		shape = []int{m.To.Count(t.Shape)}
	}
	from := libSelection(m.From, shape)
	from.MaxShape = slices.Repeat([]int{hdf5.Unlimited}, len(shape))
	return id.AddVirtual(to, m.File, dataset, from)
}

// libSelection returns a selection of a dataset as package libhdf5 takes it.
func libSelection(s hdf5.Selection, shape []int) libhdf5.Selection {
	return libhdf5.Selection{Kind: int(s.Kind), Shape: shape, Numbers: s.Numbers}
}

// regionReference writes a region reference to an image; its bytes are those of a file.
func (m *memoryImage) regionReference(old uint64, region hdf5.Selection, at int) error {
	path, known := m.r.paths[old]
	if !known {
		m.countReference()
		return nil
	}
	if m.r.marked[path] {
		m.moved++
		return nil
	}
	d, err := m.r.f.Dataset(m.r.original(path))
	if err != nil {
		return err
	}
	shape := d.Shape
	if bounds := region.Bounds(shape); len(bounds) != len(shape) || !within(bounds, shape) {
		return fmt.Errorf("a reference to a region up to %v of a dataset of shape %v", bounds, shape)
	}
	return m.r.do("refer to", path, func() error {
		made, err := m.r.w.file.Region(path, libSelection(region, shape))
		copy(m.out[at:], made)
		return err
	})
}

// within reports whether a shape fits another one.
func within(shape, limit []int) bool {
	for axis, n := range shape {
		if n > limit[axis] {
			return false
		}
	}
	return true
}
