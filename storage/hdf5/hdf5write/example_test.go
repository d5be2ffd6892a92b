package hdf5write_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// Write a file with a dataset that grows, then copy it with another compression.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "train.h5")

	w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort() // does nothing after Close
	labels, err := w.CreateDataset("/train/labels", storage.From([]int64{}, 0).Type, []int{0},
		hdf5write.Layout{MaxShape: []int{hdf5.Unlimited}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(4)}})
	if err != nil {
		log.Fatal(err)
	}
	for _, batch := range [][]int64{{3, 1, 4}, {1, 5, 9}} {
		if err := labels.Append(storage.From(batch, len(batch))); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.SetAttr("/train", "classes", []string{"zero", "one", "two"}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil { // now train.h5 exists
		log.Fatal(err)
	}

	f, err := hdf5.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	lz4 := func(*hdf5.Dataset) (hdf5write.Layout, bool, error) {
		return hdf5write.Layout{Filters: []filter.Filter{filter.LZ4()}}, true, nil
	}
	report, err := hdf5write.Repack(context.Background(), f, filepath.Join(dir, "small.h5"), hdf5write.RepackOptions{Layout: lz4})
	fmt.Println(report.Datasets, report.Reencoded, err)
	// Output: 1 1 <nil>
}
