package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
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

// epoch returns the batches of one epoch as text.
func epoch(t *testing.T, f *hdf5.File, path string) (all string) {
	t.Helper()
	d, err := f.Dataset(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Array()
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Of(dataset.Named{Name: "x", Array: a})
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range dataset.Load(context.Background(), set, dataset.Options{Batch: 64, Seed: 3}) {
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
