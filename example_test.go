package h5dnn_test

import (
	"fmt"
	"log"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// A dataset is an array that lives in a file: it is sliced without being read,
// and reading fetches only what the slice selects.
func Example() {
	file, err := hdf5.Open("testdata/digits.h5")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	images, err := file.Dataset("/train/images")
	if err != nil {
		log.Fatal(err)
	}
	array, err := images.Array()
	if err != nil {
		log.Fatal(err)
	}
	part, err := array.Index("[::500, 2:6:3, ::-1]")
	if err != nil {
		log.Fatal(err)
	}
	pixels, err := storage.Read[float32](part)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(array.Type, array.Shape, "to", part.Shape)
	fmt.Println(pixels[:8])
	// Output:
	// uint8 [1437 8 8] to [3 2 8]
	// [0 0 2 16 8 0 0 0]
}
