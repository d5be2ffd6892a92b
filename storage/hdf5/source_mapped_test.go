package hdf5_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// TestStorageInterfaces writes an array in three layouts and checks the interfaces of
// package storage that each implements.
func TestStorageInterfaces(t *testing.T) {
	elems := make([]int32, 30*4*5)
	for i := range elems {
		elems[i] = int32(i * i)
	}
	a := storage.From(elems, 30, 4, 5)
	name := filepath.Join(t.TempDir(), "x.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		w.Write("/row", a),
		w.WriteWith("/chunks", a, hdf5write.Layout{Chunks: []int{7, 4, 5}}),
		w.WriteWith("/packed", a, hdf5write.Layout{Chunks: []int{7, 2, 5}, Filters: []filter.Filter{filter.Deflate(1)}}),
		w.Close())
	if err != nil {
		t.Fatal(err)
	}
	f, err := hdf5.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	var mapped storage.MappedSource
	for path, chunk := range map[string][]int{"/row": nil, "/chunks": {7, 4, 5}, "/packed": {7, 2, 5}} {
		d, err := f.Dataset(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Array()
		if err != nil {
			t.Fatal(err)
		}
		s := got.Data.(storage.Chunked)
		if !slices.Equal(s.Shape(), a.Shape) || !slices.Equal(s.ChunkShape(), chunk) {
			t.Errorf("%s: shape %v in chunks of %v, want %v and %v", path, s.Shape(), s.ChunkShape(), a.Shape, chunk)
		}
		source, isMapped := got.Data.(storage.MappedSource)
		if isMapped != (chunk == nil) {
			t.Errorf("%s: is mapped: %v, want %v", path, isMapped, chunk == nil)
			continue
		}
		if isMapped {
			mapped = source
		}
	}
	want, _ := a.Bytes()
	if err := mapped.WithBytes(func(b []byte) error {
		if !bytes.Equal(b, want) {
			t.Errorf("mapped bytes differ from those written")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	f.Close()
	err = mapped.WithBytes(func([]byte) error { return nil })
	if !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "x.h5") || !strings.Contains(err.Error(), "/row") {
		t.Errorf("after closing: %v, want an error of kind %v that names file and dataset", err, storage.ErrState)
	}
}
