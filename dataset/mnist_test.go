package dataset

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// mnist opens the training set beside the repository, or skips.
func mnist(t testing.TB) (images, labels storage.Array) {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; root != "/"; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
	}
	name := filepath.Join(root, "..", "shared", "data", "mnist.h5")
	if _, err := os.Stat(name); err != nil {
		t.Skipf("%s is not here: %v", name, err)
	}
	f, err := hdf5.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	arrays := make([]storage.Array, 2)
	for i, path := range []string{"/train/images", "/train/labels"} {
		d, err := f.Dataset(path)
		if err == nil {
			arrays[i], err = d.Array()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return arrays[0], arrays[1]
}

// TestMNISTComesAsStored loads 60000 gzip-compressed images in every order and
// compares each with what reading the file whole gives.
func TestMNISTComesAsStored(t *testing.T) {
	x, y := mnist(t)
	allX, err := x.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	allY, err := y.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	images, labels := storage.Elements[uint8](allX), storage.Elements[uint8](allY)
	for _, o := range []Options{
		{Shuffle: None, Memory: 8 << 20},
		{Shuffle: Window, Memory: 20 << 20},
		{Shuffle: Window},
		{Shuffle: Exact},
	} {
		o.BatchSize = 128
		l := must[*Loader](t)(NewLoader(must[Dataset](t)(FromArrays(input("x", x), target("y", y))), o))
		for epoch := range 2 {
			var seen []int
			for b, err := range l.Epoch(t.Context(), epoch, 0) {
				if err != nil {
					t.Fatal(err)
				}
				bx, by := storage.Elements[uint8](b.Fields[0]), storage.Elements[uint8](b.Fields[1])
				for k, row := range b.Rows {
					if !bytes.Equal(bx[784*k:784*(k+1)], images[784*row:784*(row+1)]) || by[k] != labels[row] {
						t.Fatalf("%v, epoch %d: place %d does not hold row %d", o.Shuffle, epoch, k, row)
					}
				}
				seen = append(seen, b.Rows...)
			}
			slices.Sort(seen)
			if len(seen) != 60_000 || len(slices.Compact(seen)) != 60_000 {
				t.Errorf("%v, epoch %d: %d samples, %d different", o.Shuffle, epoch, len(seen), len(slices.Compact(seen)))
			}
		}
		t.Logf("%v: %+v", o.Shuffle, l.Plan())
	}
}
