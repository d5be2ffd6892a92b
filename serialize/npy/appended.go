package npy

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// An npyFile is an .npy file. NumPy writes several arrays to it if it is told to save them to one open
// file, and reads one at each call.
type npyFile struct {
	*serialize.List
	left int64 // bytes after the last array
}

// maxAppended bounds the arrays of a file, each of which takes more memory than its header.
const maxAppended = 1 << 16

// metaIgnored is the metadata that says how many bytes follow the last array.
const metaIgnored = "npy.ignored"

// openNpy names the array of an .npy file after the file, and those after it x.1, x.2.
func openNpy(in serialize.Input) (serialize.File, error) {
	sections, err := in.Sections()
	if err != nil {
		return nil, err
	}
	meta := map[string]string{}
	f := &npyFile{List: serialize.NewList(1, meta, sections.Close)}
	if err := f.read(in, sections); err != nil {
		sections.Release()
		return nil, err
	}
	if f.left > 0 {
		meta[metaIgnored] = f.ignored()
	}
	return f, nil
}

// read lists the arrays. An error in the first is one of the file.
func (f *npyFile) read(in serialize.Input, sections *serialize.Sections) error {
	for at := int64(0); at < in.Size; {
		name := in.ArrayName()
		if n := f.Len(); n > 0 {
			name = fmt.Sprintf("%s.%d", name, n)
		}
		h, err := readHeader(io.NewSectionReader(in, at, in.Size-at), maxHeader)
		if err != nil {
			if f.Len() == 0 {
				return err
			}
			f.left = in.Size - at
			return nil
		}
		if f.Len() == maxAppended {
			return fmt.Errorf("more than %d arrays, one after the other; save them with savez: %w", maxAppended, storage.ErrState)
		}
		data, err := sections.Section(at+h.size, in.Size-at-h.size)
		if err != nil {
			return err
		}
		e, err := h.entry(name, data, in)
		if err != nil && f.Len() == 0 {
			return err
		}
		if err := f.Add(e, err); err != nil {
			return err
		}
		if err != nil { // where the next array begins is not known, if it is truncated
			return nil
		}
		at += h.size + int64(h.view.Len()*h.typ.size)
	}
	return nil
}

func (f *npyFile) ignored() string {
	return fmt.Sprintf("%d bytes after the last array are not read", f.left)
}

// Verify reads every array, and reports what follows the last one.
func (f *npyFile) Verify(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for name, err := range serialize.ReadAll(ctx, f.List) {
			if !yield(name, err) {
				return
			}
		}
		if f.left > 0 {
			yield("", fmt.Errorf("%s: %w", f.ignored(), storage.ErrState))
		}
	}
}

// HasChecksums reports that the format has none.
func (f *npyFile) HasChecksums() bool { return false }
