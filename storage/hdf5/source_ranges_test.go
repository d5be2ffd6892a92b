package hdf5_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/views"
)

// directFile opens a file of three datasets, each more than stays mapped: in a
// row, in chunks of whole rows, and in such chunks most of which were never written.
func directFile(t *testing.T) *hdf5.File {
	t.Helper()
	hdf5.SetMaxResident(t, 100)
	elems := make([]int32, 30*4*5)
	for i := range elems {
		elems[i] = int32(i * i)
	}
	a := storage.From(elems, 30, 4, 5)
	chunks := hdf5write.Layout{Chunks: []int{7, 4, 5}}
	name := filepath.Join(t.TempDir(), "x.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	part, err := w.CreateDataset("/part", a.Type, a.Shape, chunks)
	if err != nil {
		t.Fatal(err)
	}
	band, err := a.Slice(0, 14, 21, 1)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(part.WriteAt([]int{14, 0, 0}, a.With(band)), part.Close(), w.Write("/row", a), w.WriteWith("/chunks", a, chunks), w.Close())
	if err != nil {
		t.Fatal(err)
	}
	f, err := hdf5.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestReadRanges compares stretches of bytes with the elements a view shows.
func TestReadRanges(t *testing.T) {
	f, r := directFile(t), rand.New(rand.NewPCG(1, 1))
	for _, path := range []string{"/row", "/chunks", "/part"} {
		d, err := f.Dataset(path)
		if err != nil {
			t.Fatal(err)
		}
		a, err := d.Array()
		if err != nil {
			t.Fatal(err)
		}
		direct, ok := a.Data.(storage.Uncompressed)
		if !ok {
			t.Fatalf("%s: its bytes cannot be had alone", path)
		}
		for range 500 {
			first := r.IntN(a.Len())
			n := r.IntN(a.Len()-first) + 1
			want, got := make([]byte, 4*n), make([]byte, 4*n)
			if err := direct.ReadView(want, a.Type, views.View{Offset: first, Shape: []int{n}, Stride: []int{1}}); err != nil {
				t.Fatal(err)
			}
			direct.Prefetch(4*first, 4*n, false)
			if read, err := direct.ReadAt(got, int64(4*first)); err != nil || read != 4*n || !bytes.Equal(got, want) {
				t.Fatalf("%s: %d elements from %d on: read % x, %v; the view shows % x", path, n, first, got, err, want)
			}
			if err := readParts(direct, got, r.IntN(n)*4, 4*first); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: %d elements from %d on, in parts: read % x, %v; the view shows % x", path, n, first, got, err, want)
			}
		}
		for _, at := range []int64{-1, 4 * int64(a.Len()), 1 << 62} {
			if _, err := direct.ReadAt(make([]byte, 1), at); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: a byte at %d of %d: %v, want an error of kind %v", path, at, 4*a.Len(), err, io.ErrUnexpectedEOF)
			}
		}
		direct.Prefetch(-1, 1, true)
		direct.Prefetch(0, 1<<62, true)
		direct.Release(0, 1<<62)
	}
	d, _ := f.Dataset("/row")
	a, _ := d.Array()
	f.Close()
	a.Data.(storage.Uncompressed).Prefetch(0, 4, true)
	if _, err := a.Data.(storage.Uncompressed).ReadAt(make([]byte, 4), 0); !errors.Is(err, storage.ErrState) {
		t.Errorf("after closing: %v, want an error of kind %v", err, storage.ErrState)
	}
}

// readParts fills got in two parts, the first of n bytes held and the other not.
func readParts(d storage.Uncompressed, got []byte, n, at int) error {
	clear(got)
	d.Prefetch(at, n, true)
	defer d.Release(at, n)
	return d.ReadRanges(func(yield func(int, []byte) bool) {
		_ = yield(at+n, got[n:]) && yield(at, got[:n])
	})
}
