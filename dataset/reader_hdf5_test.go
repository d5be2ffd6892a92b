package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// TestUnmappedHDF5 loads shuffled batches out of an HDF5 file in memory, which is not
// mapped, and compares them with those of the mapped file.
func TestUnmappedHDF5(t *testing.T) {
	const name = "../testdata/digits.h5"
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := hdf5.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer mapped.Close()
	inMemory, err := hdf5.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	defer inMemory.Close()
	for _, path := range []string{"/train/images", "/train/labels"} {
		if want, got := epoch(t, mapped, path), epoch(t, inMemory, path); got != want {
			t.Errorf("%s: other batches than from the mapped file", path)
		}
	}
}

// TestVirtualHDF5 loads epochs of virtual datasets over compressed chunks, and compares
// every sample with what h5py reads.
func TestVirtualHDF5(t *testing.T) {
	const folder = "../storage/hdf5/testdata"
	f, err := hdf5.Open(folder+"/virtual_rows.h5", hdf5.Options{Follow: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Lookup("/virtual")
	if err != nil {
		t.Fatal(err)
	}
	names, err := all.Names()
	if err != nil {
		t.Fatal(err)
	}
	byWindow := 0
	for _, name := range names {
		a, want := arrayOf(t, f, "/virtual/"+name), arrayOf(t, f, "/want/"+name)
		elems, err := storage.Read[int32](want)
		if err != nil {
			t.Fatal(err)
		}
		set, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: a})
		if err != nil {
			t.Fatal(err)
		}
		for seed, o := range []dataset.Options{{}, {Shuffle: dataset.Exact}, {Shuffle: dataset.None}, {Window: 2}, {Memory: scarce(set)}} {
			o.BatchSize, o.Seed = 16, uint64(seed)
			l, err := dataset.NewLoader(set, o)
			if err != nil {
				t.Fatal(err)
			}
			if l.Plan().Shuffle == dataset.Window {
				byWindow++
			}
			seen := make([]bool, set.Len())
			for batch, err := range l.Epoch(t.Context(), 0, 0) {
				if err != nil {
					t.Fatal(err)
				}
				got, err := storage.Read[int32](batch.Fields[0])
				if err != nil {
					t.Fatal(err)
				}
				for k, row := range batch.Rows {
					if seen[row] || !slices.Equal(got[3*k:3*k+3], elems[3*row:3*row+3]) {
						t.Fatalf("%s, %+v: row %d is %v, want %v, once", name, o, row, got[3*k:3*k+3], elems[3*row:3*row+3])
					}
					seen[row] = true
				}
			}
			if slices.Contains(seen, false) {
				t.Errorf("%s, %+v: rows are missing", name, o)
			}
		}
	}
	if byWindow < len(names) {
		t.Errorf("%d of %d epochs were shuffled by window", byWindow, 5*len(names))
	}
}

// scarce returns less than twice the memory that d can be loaded with.
func scarce(d dataset.Dataset) int64 {
	o := dataset.Options{BatchSize: 16, Memory: 1 << 30}
	for {
		o.Memory /= 2
		if _, err := dataset.NewLoader(d, o); err != nil {
			return 2 * o.Memory
		}
	}
}

// arrayOf returns a dataset as an array.
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

// epoch returns the batches of one epoch as text.
func epoch(t *testing.T, f *hdf5.File, path string) (all string) {
	t.Helper()
	set, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: arrayOf(t, f, path)})
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range dataset.Load(context.Background(), set, dataset.Options{BatchSize: 64, Seed: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		x, _ := batch.Fields[0].Bytes()
		all += fmt.Sprintln(batch.Rows, x)
	}
	if all == "" {
		t.Fatal("no batches")
	}
	return all
}
