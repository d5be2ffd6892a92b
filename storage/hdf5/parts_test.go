package hdf5_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/views"
)

// partsFile writes datasets of random elements in the layouts that are read in different ways: consecutive
// elements by system calls from 64 KiB on and else from the mapping, in whole rows, from decoded chunks,
// and from chunks that were never written. It returns the elements of each.
func partsFile(t *testing.T) (name string, want map[string]storage.Array) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	name = filepath.Join(t.TempDir(), "parts.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	must(t, err)
	deflate := []filter.Filter{filter.Shuffle(), filter.Deflate(1)}
	want = map[string]storage.Array{}
	for _, c := range []struct {
		shape  []int
		layout hdf5write.Layout
	}{
		{[]int{}, hdf5write.Layout{}},
		{[]int{40000}, hdf5write.Layout{}},
		{[]int{300, 201}, hdf5write.Layout{}},
		{[]int{40000}, hdf5write.Layout{Chunks: []int{16385}}},
		{[]int{300, 201}, hdf5write.Layout{Chunks: []int{150, 201}}},
		{[]int{300, 201}, hdf5write.Layout{Chunks: []int{7, 201}}},
		{[]int{300, 201}, hdf5write.Layout{Chunks: []int{220, 130}}},
		{[]int{300, 201}, hdf5write.Layout{Chunks: []int{150, 201}, Filters: deflate}},
		{[]int{300, 201}, hdf5write.Layout{Chunks: []int{32, 50}, Filters: deflate}},
		{[]int{3, 1, 70, 40, 5}, hdf5write.Layout{Chunks: []int{2, 1, 70, 40, 5}}},
		{[]int{3, 1, 70, 40, 5}, hdf5write.Layout{Chunks: []int{2, 1, 9, 40, 4}, Filters: deflate}},
	} {
		a, err := storage.Make(storage.CPU, dtype.Float32, c.shape...)
		must(t, err)
		elems := a.Data.(storage.Host).Bytes()
		for _, part := range []bool{false, true} {
			d, err := w.CreateDataset(fmt.Sprintf("/%d", len(want)), a.Type, a.Shape, c.layout)
			must(t, err)
			v := a.View
			start := make([]int, a.Rank())
			for axis, n := range a.Shape {
				if part {
					start[axis] = random.IntN(n)
					v, err = v.Slice(axis, start[axis], start[axis]+(n-start[axis]+1)/2, 1)
					must(t, err)
				}
			}
			clear(elems)
			for at := range v.Positions() {
				elems[4*at], elems[4*at+1], elems[4*at+2] = byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32())
			}
			must(t, errors.Join(d.WriteAt(start, a.With(v)), d.Close()))
			want[fmt.Sprintf("/%d", len(want))] = storage.From(append([]float32{}, storage.Elements[float32](a)...), a.Shape...)
		}
	}
	must(t, w.Close())
	return name, want
}

// randomView returns a view of v: rows, ranges, steps, reversed and transposed axes, diagonals, windows,
// broadcasts, or any strides that stay within its elements.
func randomView(r *rand.Rand, v views.View) views.View {
	if n := v.Len(); r.IntN(5) == 0 {
		w, rest := views.View{}, n-1
		for range r.IntN(4) {
			size := 1 + r.IntN(20)
			stride := r.IntN(1+rest/max(1, size-1)) * (1 - r.IntN(2)*2)
			w.Shape, w.Stride = append(w.Shape, size), append(w.Stride, stride)
			rest -= (size - 1) * max(stride, -stride)
			w.Offset -= (size - 1) * min(stride, 0)
		}
		w.Offset += r.IntN(rest + 1)
		return w
	}
	for range 1 + r.IntN(4) {
		rank := v.Rank()
		if rank == 0 {
			break
		}
		axis := r.IntN(rank)
		n := v.Shape[axis]
		start := r.IntN(n + 1)
		end := start + r.IntN(n-start+1)
		w, err := v.Slice(axis, start, end, 1)
		switch r.IntN(9) {
		case 0:
			w, err = v.Slice(axis, start, n, 1+r.IntN(5))
		case 1:
			w, err = v.Select(axis, min(start, n-1))
		case 2:
			w, err = v.Flip(axis)
		case 3:
			w, err = v.Transpose(r.Perm(rank)...)
		case 4:
			w, err = v.SlidingWindow(axis, 1+r.IntN(4), 1+r.IntN(2))
		case 5:
			w, err = v.Diagonal(axis, (axis+1)%rank, r.IntN(3)-1)
		case 6:
			w, _ = v.Broadcast(append([]int{2}, v.Shape...)...)
		case 7:
			if v.Contiguous() {
				w, err = v.Reshape(-1)
			}
		}
		if err == nil && w.Len() > 0 && w.Len() < 1<<17 {
			v = w
		}
	}
	return v
}

// TestPartsOfDatasets reads random parts of datasets of every layout, one after the other and at once, from
// files that are opened in every way, and compares them with the elements that were written.
func TestPartsOfDatasets(t *testing.T) {
	name, want := partsFile(t)
	whole, err := os.ReadFile(name)
	must(t, err)
	for mode, open := range map[string]func() (*hdf5.File, error){
		"mapped":      func() (*hdf5.File, error) { return hdf5.Open(name) },
		"small cache": func() (*hdf5.File, error) { return hdf5.Open(name, hdf5.Options{CacheBytes: 50_000}) },
		"no cache":    func() (*hdf5.File, error) { return hdf5.Open(name, hdf5.Options{CacheBytes: -1}) },
		"large": func() (*hdf5.File, error) {
			hdf5.SetMaxResident(t, 100)
			return hdf5.Open(name)
		},
		"reader": func() (*hdf5.File, error) { return hdf5.NewReader(bytes.NewReader(whole), int64(len(whole))) },
	} {
		f, err := open()
		must(t, err)
		var wait sync.WaitGroup
		for seed := range 2 {
			wait.Go(func() { readParts(t, mode, f, want, rand.New(rand.NewPCG(uint64(seed), 3))) })
		}
		wait.Wait()
		must(t, f.Close())
	}
}

// readParts compares random parts of all datasets.
func readParts(t *testing.T, mode string, f *hdf5.File, want map[string]storage.Array, r *rand.Rand) {
	for name, whole := range want {
		d, err := f.Dataset(name)
		if err != nil {
			t.Error(err)
			return
		}
		a, err := d.Array()
		if err != nil {
			t.Error(err)
			return
		}
		for range 10 {
			v := randomView(r, a.View)
			elems := storage.Elements[float32](whole)
			expected := make([]float32, 0, v.Len())
			for at := range v.Positions() {
				expected = append(expected, elems[at])
			}
			got, err := storage.Empty(a.Type, v.Shape...)
			if err == nil {
				err = a.With(v).CopyTo(got)
			}
			if b, _ := got.Bytes(); err != nil || !bytes.Equal(b, dtype.Bytes(expected)) {
				t.Errorf("%s: %s of shape %v in chunks of %v: elements of %+v differ: %v", mode, name, d.Shape, d.Chunks, v, err)
				return
			}
		}
	}
}
