package hdf5

import (
	"context"

	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// shared holds the entries written so far by their elements.
type shared map[string][]serialize.Entry

// write writes e as a hard link if an entry with the same elements and attributes was
// written, and else as a dataset.
func (s shared) write(w *hdf5write.Writer, e serialize.Entry) error {
	if e.Shared == "" || e.Elements != nil {
		return write(w, e)
	}
	elements := e.SharedElements()
	for _, before := range s[elements] {
		same, err := alike(before, e)
		if err != nil {
			return err
		}
		if same {
			return w.HardLink("/"+e.Name, "/"+before.Name)
		}
	}
	s[elements] = append(s[elements], e)
	return write(w, e)
}

// alike reports whether one dataset can be a and b.
func alike(a, b serialize.Entry) (bool, error) {
	if !serialize.SameAttrs(a.Attrs, b.Attrs) {
		return false, nil
	}
	return blocks.Equal(context.Background(), a.Array, b.Array)
}
