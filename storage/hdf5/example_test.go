package hdf5_test

import (
	"bytes"
	"fmt"
	"log"
	"os"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// Open a file, inspect a dataset, and read a part of it. Only the chunks that contain the
// part are read and decoded.
func Example() {
	f, err := hdf5.Open("testdata/indexes_latest.h5")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	d, err := f.Dataset("/fixed_gzip")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Path, d.Type, d.Shape, d.Layout, d.Chunks, d.Filters)
	a, err := d.Array()
	if err != nil {
		log.Fatal(err)
	}
	rows, err := a.View.Slice(0, 1, 3, 1)
	if err != nil {
		log.Fatal(err)
	}
	part, err := a.With(rows).To(storage.CPU)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(storage.Elements[int32](part))
	// Output:
	// /fixed_gzip int32 [5 7] chunked [2 3] [shuffle deflate fletcher32]
	// [7 8 9 10 11 12 13 14 15 16 17 18 19 20]
}

// Walk lists all objects of a file.
func ExampleFile_Walk() {
	f, err := hdf5.Open("testdata/external.h5")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for o, err := range f.Walk() {
		fmt.Println(o.Path, o.Kind, err)
	}
	// Output:
	// / group <nil>
	// /raw dataset <nil>
	// /virtual dataset <nil>
}

// Open a file that is in memory. A file that is stored without compression in a zip
// archive is an [io.SectionReader] of the archive, from [zip.File.DataOffset] on.
func ExampleNewReader() {
	content, err := os.ReadFile("testdata/indexes_latest.h5")
	if err != nil {
		log.Fatal(err)
	}
	f, err := hdf5.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	d, err := f.Dataset("/fixed_gzip")
	fmt.Println(d.Shape, d.DType, err)
	// Output: [5 7] int32 <nil>
}
