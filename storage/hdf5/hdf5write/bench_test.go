package hdf5write

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
)

// BenchmarkWriteSmall writes ten thousand arrays of ten numbers, like the state of a model
// with many small parameters.
func BenchmarkWriteSmall(b *testing.B) {
	a := storage.From(make([]float32, 10), 10)
	for b.Loop() {
		w, err := Create(filepath.Join(b.TempDir(), "small.h5"), CreateOptions{NoSync: true})
		if err != nil {
			b.Fatal(err)
		}
		for i := range 10000 {
			if err := w.Write(fmt.Sprintf("/layers.%d.bias", i), a); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWriteLarge writes one array of 256 MiB in different layouts.
func BenchmarkWriteLarge(b *testing.B) {
	elems := make([]float32, 64<<20)
	for i := range elems {
		if i/64%5 == 0 {
			elems[i] = float32(i%1000) / 8
		}
	}
	a := storage.From(elems, 64<<10, 1024)
	for _, layout := range []Layout{{}, {Chunks: []int{64, 1024}}, {Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(4)}}, {Filters: []filter.Filter{filter.LZ4()}}, {Filters: []filter.Filter{filter.Zstd(3)}}} {
		b.Run(fmt.Sprint(layout.Chunks, layout.Filters), func(b *testing.B) {
			b.SetBytes(int64(4 * len(elems)))
			for b.Loop() {
				w, err := Create(filepath.Join(b.TempDir(), "large.h5"), CreateOptions{NoSync: true})
				if err != nil {
					b.Fatal(err)
				}
				if err := w.WriteWith("/x", a, layout); err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
