package serializetest_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
)

// Drain opens a file and reads all of it, as a fuzz target does: of this one, the end is missing.
func ExampleDrain() {
	fmt.Println(serializetest.Drain("../native/testdata/views.h5dn", serialize.Options{Format: "native"}))
	fmt.Println(serializetest.Drain("../../testdata/cut.h5dn"))
	// Output:
	// "four bits": elements of type uint4 are not read; save the array as another type: wrong type
	// ../../testdata/cut.h5dn: the file is truncated; h5dnn repair saves its intact arrays: unexpected EOF
}
