// Package npy reads and writes NumPy's files: .npy, one array, and .npz, a zip
// archive of them.
//
// Nothing is read before it is asked for, and slices of arrays that are not
// compressed read only what they select. Columns-first ("Fortran order") data
// is a view. Elements that are not numbers, such as strings and Python objects,
// are refused; nothing in a file is executed.
//
// Headers are read by a parser of our own, as they come from strangers; the
// package github.com/sbinet/npyio examines it in the tests.
package npy

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

func init() {
	serialize.Register(serialize.Format{Name: "npy", Extensions: []string{".npy"}, Match: matchNpy, Open: openNpy, Save: saveNpy})
	serialize.Register(serialize.Format{Name: "npz", Extensions: []string{".npz"}, Match: matchNpz, Open: openNpz, Save: saveNpz})
}

// Write writes a to w as an .npy file, a part at a time.
func Write(w io.Writer, a storage.Array) error {
	if err := writeHeader(w, a); err != nil {
		return err
	}
	_, err := a.WriteTo(w)
	return err
}

func matchNpy(r io.ReaderAt) bool {
	var head [len(magic)]byte
	_, err := r.ReadAt(head[:], 0)
	return err == nil && string(head[:]) == magic
}

// A file holds arrays in order, over one mapping.
type file struct {
	names  []string
	arrays map[string]storage.Array
	meta   map[string]string
	close  func() error
}

func (f *file) All() iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		for _, name := range f.names {
			if !yield(name, f.arrays[name]) {
				return
			}
		}
	}
}

func (f *file) Meta() map[string]string { return maps.Clone(f.meta) }

func (f *file) Close() error { return f.close() }

// openNpy calls the one array of an .npy file what the file is called.
func openNpy(name string, f *os.File) (serialize.File, error) {
	defer f.Close() // the mapping does not need it
	h, err := readHeader(f)
	if err != nil {
		return nil, err
	}
	m, err := storage.Map(f)
	if err != nil {
		return nil, err
	}
	data, err := m.Range(h.size, int64(m.Len())-h.size)
	if err != nil {
		m.Close()
		return nil, err
	}
	a, err := h.array(data)
	if err != nil {
		m.Close()
		return nil, err
	}
	only := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	return &file{[]string{only}, map[string]storage.Array{only: a}, map[string]string{}, m.Close}, nil
}

func saveNpy(name string, c serialize.Contents) error {
	if len(c.Meta) > 0 {
		return fmt.Errorf("an .npy file holds an array and nothing besides; %d metadata need .npz or another format: %w", len(c.Meta), storage.ErrState)
	}
	return atomicfile.Write(name, func(f *os.File) error {
		n := 0
		for called, a := range c.Arrays {
			if n++; n > 1 {
				break
			}
			if err := Write(f, a); err != nil {
				return fmt.Errorf("%s: %w", called, err)
			}
		}
		if n != 1 {
			return fmt.Errorf("an .npy file holds one array, and not none or several; write .npz or another format: %w", storage.ErrState)
		}
		return nil
	})
}
