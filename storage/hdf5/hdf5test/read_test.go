package hdf5test_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5test"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

func TestLibraryRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.h5")
	w, err := hdf5write.Create(path, hdf5write.CreateOptions{NoSync: true})
	must(t, err)
	defer w.Abort()
	must(t, w.WriteWith("/g/x", counted(t, dtype.Int16, 4, 5), hdf5write.Layout{Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(4)}}))
	must(t, w.WriteStrings("/s", []string{"a"}, 1))
	must(t, w.Write("/scalar", counted(t, dtype.Complex64)))
	must(t, w.SoftLink("/soft", "/g/x"))
	must(t, w.Close())
	before, err := os.ReadFile(path)
	must(t, err)

	want := dtype.Bytes([]int16{7, 8, 12, 13})
	for _, name := range []string{"/g/x", "/soft"} {
		for _, typ := range []dtype.Type{dtype.Int16, dtype.Invalid} {
			got := make([]byte, 8)
			if err := hdf5test.LibraryRead(path, name, got, typ, []int{1, 2}, []int{2, 2}); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s as %v: got %v, %v, want %v", name, typ, got, err, want)
			}
		}
	}
	must(t, hdf5test.LibraryRead(path, "/scalar", make([]byte, 8), dtype.Complex64, nil, nil))
	must(t, hdf5test.LibraryRead(path, "/g/x", nil, dtype.Int16, []int{1, 2}, []int{0, 2}))
	for _, c := range []struct {
		path         string
		n            int
		start, count []int
		say          string
	}{
		{"/g/x", 7, []int{1, 2}, []int{2, 2}, "bytes"},
		{"/g/x", 9, []int{1, 2}, []int{2, 2}, "bytes"},
		{"/g/x", 8, []int{3, 2}, []int{2, 2}, "outside"},
		{"/g/x", 8, []int{-1, 2}, []int{2, 2}, "outside"},
		{"/g/x", 8, []int{0}, []int{4}, "axes"},
		{"/g/x", 8, []int{0, 0}, []int{4}, "shape"},
		{"/g", 8, []int{0}, []int{4}, ""},
		{"/g/y", 8, []int{0}, []int{4}, ""},
		{"/s", 8, []int{0}, []int{1}, ""},
	} {
		err := hdf5test.LibraryRead(path, c.path, make([]byte, c.n), dtype.Int16, c.start, c.count)
		if err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s from %v, %v elements into %d bytes: got %v, want an error with %q", c.path, c.start, c.count, c.n, err, c.say)
		}
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("reading changed the file")
	}
}

// TestLibraryOpensNoOtherFile reads a file, made by h5py, that refers to another file in
// every way.
func TestLibraryOpensNoOtherFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.h5")
	w, err := hdf5write.Create(path, hdf5write.CreateOptions{NoSync: true})
	must(t, err)
	defer w.Abort()
	must(t, w.Write("/x", counted(t, dtype.Uint8, 8)))
	must(t, w.Close())
	h5py(t, path, `
import sys, h5py
g = h5py.File(sys.argv[1] + '.links', 'w')
g['link'] = h5py.ExternalLink(sys.argv[1], '/x')
g['group'] = h5py.ExternalLink(sys.argv[1], '/')
layout = h5py.VirtualLayout(shape=(8,), dtype='u1')
layout[:] = h5py.VirtualSource(sys.argv[1], 'x', shape=(8,))
g.create_virtual_dataset('virtual', layout)
g.create_dataset('raw', shape=(8,), dtype='u1', external=[(sys.argv[1], 0, 8)])
g.close()
`)
	for _, name := range []string{"/link", "/group/x", "/virtual", "/raw"} {
		got := make([]byte, 8)
		if err := hdf5test.LibraryRead(path+".links", name, got, dtype.Uint8, []int{0}, []int{8}); err == nil {
			t.Errorf("%s: read %v from another file", name, got)
		}
	}
}

// lostSigns has big-endian integers with unused bits, which libhdf5 1.10.8 reads as
// positive numbers. Version 2.0 reads what was written.
const lostSigns = "/got/nbit/40 of 64"

// TestLibraryAgrees reads every number in the files of testdata with package hdf5 and
// with libhdf5.
func TestLibraryAgrees(t *testing.T) {
	var names []string
	for _, pattern := range []string{"../testdata/*.h5", "../../../testdata/*.h5"} {
		more, err := filepath.Glob(pattern)
		must(t, err)
		names = append(names, more...)
	}
	compared, unreadable := 0, 0
	for _, name := range names {
		n, skipped, err := hdf5test.Compare(name, func(path string) {
			if path != lostSigns {
				t.Errorf("%s: %s: libhdf5 reads other elements", name, path)
			}
		})
		must(t, err)
		compared, unreadable = compared+n, unreadable+skipped
	}
	t.Logf("%d datasets compared in %d files; libhdf5 cannot read %d more", compared, len(names), unreadable)
	if compared < 100 {
		t.Errorf("%d datasets compared, want at least 100", compared)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// counted returns an array whose elements are 0, 1, 2, ….
func counted(t *testing.T, typ dtype.Type, shape ...int) storage.Array {
	t.Helper()
	a, err := storage.Make(storage.CPU, typ, shape...)
	must(t, err)
	elems := make([]float64, a.Len())
	for i := range elems {
		elems[i] = float64(i)
	}
	must(t, dtype.Convert(a.Data.(storage.Host).Bytes(), typ, dtype.Bytes(elems), dtype.Float64))
	return a
}

// h5py runs a Python script with path as its argument, or skips the test without h5py.
func h5py(t *testing.T, path, script string) {
	t.Helper()
	pythontest.Run(t, []string{"h5py"}, script, path)
}
