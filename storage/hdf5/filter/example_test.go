package filter_test

import (
	"fmt"
	"log"

	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
)

// Encode a chunk of elements of 4 bytes and decode it again.
func Example() {
	pipeline := []filter.Filter{filter.Shuffle(), filter.Deflate(6), filter.Fletcher32()}
	chunk := make([]byte, 4000)
	stored, mask, err := filter.Encode(chunk, pipeline, 4)
	if err != nil {
		log.Fatal(err)
	}
	decoded := make([]byte, len(chunk))
	if err := filter.Decode(decoded, stored, pipeline, mask, 4); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pipeline, len(stored) < 100, string(decoded) == string(chunk))
	// Output: [shuffle deflate fletcher32] true true
}
