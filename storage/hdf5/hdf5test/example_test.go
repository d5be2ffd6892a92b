package hdf5test_test

import (
	"fmt"
	"log"

	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5test"
)

// Read the datasets of a file with package hdf5 and with libhdf5.
func ExampleCompare() {
	compared, unreadable, err := hdf5test.Compare("../../../testdata/digits.h5", func(path string) {
		log.Println(path, "differs")
	})
	fmt.Println(compared, unreadable, err)
	// Output: 4 0 <nil>
}
