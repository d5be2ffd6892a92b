package format_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// Example multiplies sizes that a file declares, and computes a checksum of metadata.
func Example() {
	n, err := format.Product(3, 4, 8)
	fmt.Println(n, err)
	_, err = format.Product(1<<40, 1<<40)
	fmt.Println(err)
	fmt.Printf("%08x\n", format.Lookup3([]byte("Four score and seven years ago")))
	// Output:
	// 96 <nil>
	// [1099511627776 1099511627776]: more bytes than any memory has
	// 17770551
}
