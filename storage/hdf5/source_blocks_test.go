package hdf5

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
)

// TestPartsOfChunks decodes some blocks of Blosc's chunks, or the beginning of Zstandard's, and whole chunks: elements are equal.
func TestPartsOfChunks(t *testing.T) {
	f, err := Open("testdata/blosc_blocks.h5") // by testdata/blosc_blocks.py
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for d, err := range f.NumericDatasets() {
		if err != nil {
			t.Fatal(err)
		}
		whole, err := d.Raw(d.View())
		if err != nil {
			t.Fatal(err)
		}
		a, err := d.Array()
		if err != nil {
			t.Fatal(err)
		}
		if n := a.Data.(*source).PartBytes(); (n == 0) != (d.Filters[0].ID == filter.ZstdID) || n > 1<<20 {
			t.Errorf("%s: parts of %d bytes", d.Path, n)
		}
		partly := 0
		for range 60 {
			v := d.View()
			for axis, n := range d.Shape {
				start, count, step := random.IntN(n), 1+random.IntN(n/4), 1+random.IntN(3)
				if axis > 0 && random.IntN(2) == 0 {
					start, count, step = 0, n, 1
				}
				if v, err = v.Slice(axis, start, min(n, start+count), step); err != nil {
					t.Fatal(err)
				}
			}
			f.chunks = &chunkCache{limit: 64 << 20}
			got, err := d.Raw(v)
			if err != nil {
				t.Fatal(err)
			}
			partly += len(f.chunks.partly)
			k := 0
			for at := range v.Positions() {
				if !bytes.Equal(got[k:k+d.Type.Size], whole[at*d.Type.Size:][:d.Type.Size]) {
					t.Fatalf("%s: %v: element %d differs", d.Path, v, k)
				}
				k += d.Type.Size
			}
		}
		if partly == 0 {
			t.Errorf("%s: no chunk was decoded partly", d.Path)
		}
	}
}
