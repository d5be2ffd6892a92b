package scratch_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
)

// Example borrows memory for a decoded chunk.
func Example() {
	chunk := scratch.Get(4096)
	defer scratch.Put(chunk)
	fmt.Println(len(chunk))
	// Output: 4096
}
