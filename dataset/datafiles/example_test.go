package datafiles_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/storage"
)

// Example finds labels in a file that is opened when it is first named.
func Example() {
	files := datafiles.New(func(name string) (inspect.File, error) { return inspect.Open(name) })
	defer files.Close()
	names, err := files.Glob("../../testdata/dig*.h5")
	if err != nil {
		panic(err)
	}
	found, err := files.Find(names[0], "/test/labels[:5]")
	if err != nil {
		panic(err)
	}
	labels, err := storage.Read[uint8](found.Array)
	fmt.Println(labels, err)
	// Output: [2 6 5 8 5] <nil>
}
