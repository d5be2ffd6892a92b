package hdf5_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/views"
)

// largeFile opens a file of three datasets that are too large to stay mapped: contiguous,
// in chunks of whole rows, and in such chunks of which few were written.
func largeFile(t *testing.T) *hdf5.File {
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
	rows, err := a.Slice(0, 14, 21, 1)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(part.WriteAt([]int{14, 0, 0}, a.With(rows)), part.Close(), w.Write("/row", a), w.WriteWith("/chunks", a, chunks), w.Close())
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

// TestReadRanges compares ranges of bytes with the elements that a view selects.
func TestReadRanges(t *testing.T) {
	f, r := largeFile(t), rand.New(rand.NewPCG(1, 1))
	for _, path := range []string{"/row", "/chunks", "/part"} {
		d, err := f.Dataset(path)
		if err != nil {
			t.Fatal(err)
		}
		a, err := d.Array()
		if err != nil {
			t.Fatal(err)
		}
		ranges, ok := a.Data.(storage.Uncompressed)
		if !ok {
			t.Fatalf("%s: it does not implement storage.Uncompressed", path)
		}
		for range 500 {
			first := r.IntN(a.Len())
			n := r.IntN(a.Len()-first) + 1
			want, got := make([]byte, 4*n), make([]byte, 4*n)
			if err := ranges.ReadView(want, a.Type, views.View{Offset: first, Shape: []int{n}, Stride: []int{1}}); err != nil {
				t.Fatal(err)
			}
			ranges.Prefetch(4*first, 4*n)
			if read, err := ranges.ReadAt(got, int64(4*first)); err != nil || read != 4*n || !bytes.Equal(got, want) {
				t.Fatalf("%s: %d elements from %d on: read % x, %v; the view selects % x", path, n, first, got, err, want)
			}
			if err := readTwoRanges(ranges, got, r.IntN(n)*4, 4*first); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: %d elements from %d on, in two ranges: read % x, %v; the view selects % x", path, n, first, got, err, want)
			}
		}
		for _, at := range []int64{-1, 4 * int64(a.Len()), 1 << 62} {
			if _, err := ranges.ReadAt(make([]byte, 1), at); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: a byte at %d of %d: %v, want an error of kind %v", path, at, 4*a.Len(), err, io.ErrUnexpectedEOF)
			}
		}
		ranges.Prefetch(-1, 1)
		ranges.Prefetch(0, 1<<62)
	}
	d, _ := f.Dataset("/row")
	a, _ := d.Array()
	f.Close()
	a.Data.(storage.Uncompressed).Prefetch(0, 4)
	if _, err := a.Data.(storage.Uncompressed).ReadAt(make([]byte, 4), 0); !errors.Is(err, storage.ErrState) {
		t.Errorf("after closing: %v, want an error of kind %v", err, storage.ErrState)
	}
}

// readTwoRanges fills got in two ranges, of which the second comes first.
func readTwoRanges(d storage.Uncompressed, got []byte, n, at int) error {
	clear(got)
	return d.ReadRanges(func(yield func(int, []byte) bool) {
		_ = yield(at+n, got[n:]) && yield(at, got[:n])
	})
}

// TestRangesThatFollowEachOther reads rows of a file one after the other to places in random
// order, and some twice: more of them than one system call reads.
func TestRangesThatFollowEachOther(t *testing.T) {
	hdf5.SetMaxResident(t, 100)
	const rows, row = 3000, 1000
	elems := make([]uint8, rows*row)
	for i := range elems {
		elems[i] = uint8(i % 251)
	}
	name := filepath.Join(t.TempDir(), "x.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a := storage.From(elems, rows, row)
	if err := errors.Join(w.Write("/row", a), w.WriteWith("/chunks", a, hdf5write.Layout{Chunks: []int{7, row}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range []func() (*hdf5.File, error){
		func() (*hdf5.File, error) { return hdf5.Open(name) },
		func() (*hdf5.File, error) { return hdf5.NewReader(bytes.NewReader(whole), int64(len(whole))) },
	} {
		f, err := open()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, path := range []string{"/row", "/chunks"} {
			d, err := f.Dataset(path)
			if err != nil {
				t.Fatal(err)
			}
			a, err := d.Array()
			if err != nil {
				t.Fatal(err)
			}
			got, to := make([]byte, len(elems)), rand.New(rand.NewPCG(2, 2)).Perm(rows)
			err = a.Data.(storage.Uncompressed).ReadRanges(func(yield func(int, []byte) bool) {
				for k, at := range to {
					if !yield(k*row, got[at*row:][:row]) {
						return
					}
				}
				_ = yield(row, got[to[1]*row:][:row]) && yield(0, nil)
			})
			if err != nil {
				t.Fatal(err)
			}
			for k, at := range to {
				if !bytes.Equal(got[at*row:][:row], elems[k*row:][:row]) {
					t.Fatalf("%s: row %d was read wrongly", path, k)
				}
			}
		}
	}
}
