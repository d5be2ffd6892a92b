package hdf5_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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
			ranges.Prefetch(4*first, 4*n, false)
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
		ranges.Prefetch(-1, 1, true)
		ranges.Prefetch(0, 1<<62, true)
		ranges.Release(0, 1<<62)
	}
	d, _ := f.Dataset("/row")
	a, _ := d.Array()
	f.Close()
	a.Data.(storage.Uncompressed).Prefetch(0, 4, true)
	if _, err := a.Data.(storage.Uncompressed).ReadAt(make([]byte, 4), 0); !errors.Is(err, storage.ErrState) {
		t.Errorf("after closing: %v, want an error of kind %v", err, storage.ErrState)
	}
}

// readTwoRanges fills got in two ranges, of which the first n bytes are prefetched.
func readTwoRanges(d storage.Uncompressed, got []byte, n, at int) error {
	clear(got)
	d.Prefetch(at, n, true)
	defer d.Release(at, n)
	return d.ReadRanges(func(yield func(int, []byte) bool) {
		_ = yield(at+n, got[n:]) && yield(at, got[:n])
	})
}

// TestReleasedPagesAreUnmapped reads a file of 96 MiB from mapped pages, block by block:
// no more than the released pages that may stay are resident, and none in the end.
func TestReleasedPagesAreUnmapped(t *testing.T) {
	hdf5.SetMaxResident(t, 100)
	const size, block = 96 << 20, 1<<20 + 4096
	name := filepath.Join(t.TempDir(), "x.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write("/x", storage.From(make([]uint8, size), size)), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := hdf5.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.Dataset("/x")
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Array()
	if err != nil {
		t.Fatal(err)
	}
	ranges, b := a.Data.(storage.Uncompressed), make([]byte, block)
	ranges.Prefetch(size, 0, true) // is released last
	before, most := residentFiles(t), 0
	for at := 0; at < size; at += block {
		n := min(block, size-at)
		ranges.Prefetch(at, n, true)
		if err := ranges.ReadRanges(func(yield func(int, []byte) bool) { yield(at, b[:n]) }); err != nil {
			t.Fatal(err)
		}
		ranges.Release(at, n)
		most = max(most, residentFiles(t)-before)
	}
	ranges.Release(size, 0)
	if least := storage.MaxDeferredRelease / 2; most < least {
		t.Errorf("at most %d bytes were resident; want at least %d to be released together", most, least)
	}
	if limit := storage.MaxDeferredRelease + 8<<20; most > limit {
		t.Errorf("%d bytes were resident; want at most %d", most, limit)
	}
	if left := residentFiles(t) - before; left > block/2 {
		t.Errorf("%d bytes are resident after all were released", left)
	}
}

// residentFiles returns how many bytes of mapped files are resident.
func residentFiles(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("resident pages are counted by Linux only: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "RssFile: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	t.Skip("/proc/self/status has no RssFile")
	return 0
}
