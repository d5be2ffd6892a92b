// Package npy reads and writes NumPy's files: .npy, one array, and .npz, a zip
// archive of them.
//
// Elements are read when they are asked for, and slices of arrays that are not
// compressed read only what they select. Data in Fortran order is a view. Elements
// that are not numbers, such as strings and Python objects, are refused; nothing in
// a file is executed.
//
// The header parser is this package's own, because headers come from strangers; the
// tests compare it with github.com/sbinet/npyio.
package npy

import (
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	types     = slices.DeleteFunc(dtype.All(), func(t dtype.Type) bool { return t == dtype.BFloat16 || t.StorageOnly() })
	npyFormat = serialize.Format{Name: "npy", Extensions: []string{".npy"}, Types: types, Single: true}
	npzFormat = serialize.Format{Name: "npz", Extensions: []string{".npz"}, Types: types, Meta: true}
)

func init() {
	npyFormat.Match, npyFormat.Open, npyFormat.Save = matchNpy, openNpy, saveNpy
	npzFormat.Match, npzFormat.Open, npzFormat.Save = matchNpz, openNpz, saveNpz
	serialize.Register(npyFormat)
	serialize.Register(npzFormat)
}

// Write writes a to w as an .npy file, block by block.
func Write(w io.Writer, a storage.Array) error {
	if err := writeHeader(w, a); err != nil {
		return err
	}
	_, err := a.WriteTo(w)
	return err
}

func matchNpy(r io.ReaderAt, _ int64) serialize.Confidence {
	var head [len(magic) + 4]byte // with the version and the length of the header
	if _, err := r.ReadAt(head[:], 0); err != nil || string(head[:len(magic)]) != magic {
		return serialize.NoMatch
	}
	return serialize.ExactMatch
}

// A file is an open .npy or .npz file.
type file struct {
	entries []serialize.Entry
	meta    map[string]string
	*serialize.Sections
}

func (f *file) All() iter.Seq2[serialize.Entry, error] {
	return func(yield func(serialize.Entry, error) bool) {
		for _, e := range f.entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (f *file) Meta() map[string]string { return maps.Clone(f.meta) }

// openNpy names the array of an .npy file after the file.
func openNpy(in serialize.Input) (serialize.File, error) {
	h, err := readHeader(io.NewSectionReader(in, 0, in.Size))
	if err != nil {
		return nil, err
	}
	d, err := in.Sections()
	if err != nil {
		return nil, err
	}
	elements, err := d.Section(h.size, in.Size-h.size)
	if err == nil {
		var a storage.Array
		if a, err = h.array(elements); err == nil {
			name := strings.TrimSuffix(filepath.Base(in.Name), filepath.Ext(in.Name))
			return &file{[]serialize.Entry{{Name: name, Array: a}}, map[string]string{}, d}, nil
		}
	}
	d.Release()
	return nil, err
}

func saveNpy(w io.Writer, c serialize.Contents) error {
	e, err := npyFormat.Only(c)
	if err != nil {
		return err
	}
	return Write(w, e.Array)
}
