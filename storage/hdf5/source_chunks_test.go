package hdf5_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// written returns a file of int32 arrays that count from 0, all of one shape.
func written(t *testing.T, o hdf5.Options, layouts map[string]hdf5write.Layout, shape ...int) *hdf5.File {
	t.Helper()
	n := 1
	for _, size := range shape {
		n *= size
	}
	elems := make([]int32, n)
	for i := range elems {
		elems[i] = int32(i)
	}
	name := filepath.Join(t.TempDir(), "x.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for path, layout := range layouts {
		err = errors.Join(err, w.WriteWith(path, storage.From(elems, shape...), layout))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := hdf5.Open(name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func arrayOf(t *testing.T, f *hdf5.File, path string) storage.Array {
	t.Helper()
	d, err := f.Dataset(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Array()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestLargeReadsBypassTheCache reads partial chunks with a cache for far more than all of
// them, a little more, and less: only the first caches them. A small read does.
func TestLargeReadsBypassTheCache(t *testing.T) {
	layouts := map[string]hdf5write.Layout{"/x": {Chunks: []int{8, 16}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(1)}}}
	var want []byte
	for _, cache := range []int{1 << 20, 8000, 2000} {
		f := written(t, hdf5.Options{CacheBytes: cache}, layouts, 30, 41)
		x := arrayOf(t, f, "/x")
		got, err := x.To(storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := got.Bytes()
		if want == nil {
			want = b
		}
		if !bytes.Equal(b, want) {
			t.Errorf("cache of %d bytes: values differ", cache)
		}
		if cached := f.CachedBytes(); (cached == 0) != (cache < 1<<20) {
			t.Errorf("cache of %d bytes: %d are cached after reading %d", cache, cached, len(want))
		}
		row, err := x.Slice(0, 3, 4, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err = x.With(row).To(storage.CPU); err != nil {
			t.Fatal(err)
		}
		if b, _ = got.Bytes(); !bytes.Equal(b, want[3*41*4:4*41*4]) {
			t.Errorf("cache of %d bytes: row 3 differs", cache)
		}
		if f.CachedBytes() == 0 {
			t.Errorf("cache of %d bytes: reading a row cached nothing", cache)
		}
	}
}

// TestLinkedFilesShareTheCache reads two files of one folder, whose datasets have the same
// places and other elements, with a cache for one of them.
func TestLinkedFilesShareTheCache(t *testing.T) {
	folder := t.TempDir()
	const n, half = 1024, 512
	var elems [2][]int32
	for k, name := range []string{"0.h5", "1.h5"} {
		for i := range n {
			elems[k] = append(elems[k], int32(1000*k+i))
		}
		w, err := hdf5write.Create(filepath.Join(folder, name), hdf5write.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		layout := hdf5write.Layout{Chunks: []int{half}, Filters: []filter.Filter{filter.Deflate(1)}}
		if err := errors.Join(w.WriteWith("/x", storage.From(elems[k], n), layout), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	const limit = 2 * half * 4
	f, err := hdf5.Open(filepath.Join(folder, "0.h5"), hdf5.Options{Follow: folder, CacheBytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := f.Linked("1.h5")
	if err != nil {
		t.Fatal(err)
	}
	arrays := []storage.Array{arrayOf(t, f, "/x"), arrayOf(t, g, "/x")}
	for i := range n {
		k := i % 2
		at := i * 37 % n
		one, err := arrays[k].Slice(0, at, at+1, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := storage.Read[int32](arrays[k].With(one))
		if err != nil || got[0] != elems[k][at] {
			t.Fatalf("file %d, element %d: %v, %v; want %d", k, at, got, err, elems[k][at])
		}
		if f.CachedBytes() > limit || g.CachedBytes() != f.CachedBytes() {
			t.Fatalf("%d and %d bytes are cached, of %d", f.CachedBytes(), g.CachedBytes(), limit)
		}
	}
	if f.CachedBytes() != limit {
		t.Errorf("%d bytes are cached, want %d", f.CachedBytes(), limit)
	}
}
