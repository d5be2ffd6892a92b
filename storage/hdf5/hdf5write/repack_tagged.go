package hdf5write

import (
	"errors"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// errTagged is why references of HDF5 1.12 are not copied.
var errTagged = errors.New("references of HDF5 1.12 that earlier versions lack: to attributes, to other files, of several kinds in one array, or in parts of elements")

// untag returns the type of the given elements in the copy. References of HDF5 1.12 that
// are all to objects, or all to regions, become references of earlier versions. They can
// say less, so references to attributes and to objects of other files have no counterpart.
func (r *repacker) untag(path string, t *hdf5.Type, elements iter.Seq[[]byte]) (*hdf5.Type, error) {
	if !t.Tagged {
		return t, nil
	}
	objects, regions := 0, 0
	for element := range elements {
		switch to, err := r.f.Referent(t, element); {
		case err != nil:
			return nil, err
		case to.Attribute != "" || to.File != "":
			return nil, errTagged
		case to.Region != nil:
			regions++
		case to.Address != 0:
			objects++
		}
	}
	if objects > 0 && regions > 0 {
		return nil, errTagged
	}
	r.note(path, "references of HDF5 1.12 are copied as those of earlier versions")
	old := *t
	old.Region, old.Committed = regions > 0, 0
	return &old, nil
}

// eachElement yields the elements of a dataset. It sets *failed if one cannot be read.
func (r *repacker) eachElement(d *hdf5.Dataset, failed *error) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		hasStored, err := storedIn(d)
		if *failed = err; err != nil || d.Shape == nil || slices.Contains(d.Shape, 0) {
			return
		}
		var buf []byte
		for b := range blocks(d, slices.Repeat([]int{1}, len(d.Shape)), r.budget(d)) {
			if !hasStored(b) {
				continue
			}
			if buf, *failed = r.read(d, b, buf); *failed != nil {
				return
			}
			for element := range slices.Chunk(buf, d.Type.Size) {
				if !yield(element) {
					return
				}
			}
		}
	}
}

// copiedSize returns the size of an element in the copy, in bytes.
func copiedSize(t *hdf5.Type) int {
	switch {
	case t.Tagged && t.Region:
		return 12
	case t.Tagged:
		return 8
	}
	return t.Size
}
