// Package hdf5 makes HDF5 files one of the formats of package serialize: arrays
// are datasets, "/" in a name separates groups, and metadata are string
// attributes of the root group.
//
// What else can be in an HDF5 file, and how it is read, belongs to package
// storage/hdf5. Of files from elsewhere, datasets that are not numbers and
// attributes that are not strings are left out here.
package hdf5

import (
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

func init() {
	serialize.Register(serialize.Format{
		Name: "hdf5", Extensions: []string{".h5", ".hdf5"}, Match: match, Open: open, Save: save,
	})
}

// match looks for the signature where a superblock may be: at the beginning, or
// after a user block of 512 bytes or a power of two times as many.
func match(r io.ReaderAt) bool {
	const signature = "\x89HDF\r\n\x1a\n"
	var head [len(signature)]byte
	for at := int64(0); ; at = max(512, 2*at) {
		if n, _ := r.ReadAt(head[:], at); n < len(head) {
			return false
		}
		if string(head[:]) == signature {
			return true
		}
	}
}

type file struct {
	names  []string
	arrays []storage.Array
	meta   map[string]string
	close  func() error
}

func open(name string, f *os.File) (serialize.File, error) {
	f.Close()
	in, err := hdf5.Open(name)
	if err != nil {
		return nil, err
	}
	out := &file{meta: map[string]string{}, close: sync.OnceValue(in.Close)}
	if err := out.read(in); err != nil {
		in.Close()
		return nil, err
	}
	return out, nil
}

// read lists what the file holds. An object that cannot be read is an error
// here, as an array that is only missing might go unnoticed.
func (f *file) read(in *hdf5.File) error {
	for d, err := range in.NumericDatasets() {
		if err != nil {
			return err
		}
		a, err := d.Array()
		if err != nil {
			return err
		}
		f.names, f.arrays = append(f.names, d.Path[1:]), append(f.arrays, a)
	}
	root, err := in.Root()
	if err != nil {
		return err
	}
	attrs, err := root.Attributes()
	for _, a := range attrs {
		if text, err := a.Strings(); err == nil && len(text) == 1 && len(a.Shape) == 0 {
			f.meta[a.Name] = text[0]
		}
	}
	return err
}

func (f *file) All() iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		for i, name := range f.names {
			if !yield(name, f.arrays[i]) {
				return
			}
		}
	}
}

func (f *file) Meta() map[string]string { return maps.Clone(f.meta) }

func (f *file) Close() error { return f.close() }

func save(name string, c serialize.Contents) error {
	w, err := hdf5.Create(name, hdf5.CreateOptions{})
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, key := range slices.Sorted(maps.Keys(c.Meta)) {
		if err := w.SetAttr("/", key, c.Meta[key]); err != nil {
			return err
		}
	}
	for called, a := range c.Arrays {
		if err := w.Write("/"+called, a); err != nil {
			return err
		}
	}
	return w.Close()
}
