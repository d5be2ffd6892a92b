package hdf5

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/views"
)

// An EntryWriter writes entries to an HDF5 file. One that has the elements and attributes of
// an entry before it becomes a hard link.
type EntryWriter struct {
	ctx     context.Context // ends reads
	w       *hdf5write.Writer
	written map[string][]serialize.Entry // by their elements
}

// NewEntryWriter returns an EntryWriter to w.
func NewEntryWriter(ctx context.Context, w *hdf5write.Writer) *EntryWriter {
	return &EntryWriter{ctx, w, map[string][]serialize.Entry{}}
}

// Write writes an entry. An error of kind [hdf5write.ErrString] has written nothing.
func (w *EntryWriter) Write(e serialize.Entry) error {
	if e.Shared == "" || e.Elements != nil {
		return w.writeDataset(e)
	}
	elements := e.SharedElements()
	for _, before := range w.written[elements] {
		if serialize.SameAttrs(before.Attrs, e.Attrs) {
			return w.w.HardLink("/"+e.Name, "/"+before.Name)
		}
	}
	w.written[elements] = append(w.written[elements], e)
	return w.writeDataset(e)
}

func (w *EntryWriter) writeDataset(e serialize.Entry) error {
	path := "/" + e.Name
	if err := w.writeElements(path, e); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(e.Attrs)) {
		if err := w.w.SetAttr(path, key, e.Attrs[key]); err != nil {
			return err
		}
	}
	return nil
}

func (w *EntryWriter) writeElements(path string, e serialize.Entry) error {
	if e.Elements == nil {
		return w.w.Write(path, blocks.WithContext(w.ctx, e.Array))
	}
	if e.Elements.Type != "string" {
		return fmt.Errorf("%s: hdf5 files are written with numbers and strings, not %s: %w", e.Name, e.Elements.Type, dtype.ErrType)
	}
	return w.w.WriteStringsOf(path, e.Elements.View, func(v views.View) ([]string, error) {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		values, err := e.Elements.Values(v)
		list := make([]string, len(values))
		for i, value := range values {
			list[i] = value.(string)
		}
		return list, err
	})
}
