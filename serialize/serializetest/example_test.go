package serializetest_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/serialize/serializetest"
)

// What a fuzz target of a format calls with the bytes it made up.
func ExampleDrain() {
	fmt.Println(serializetest.Drain("no such file"))
	// Output: open no such file: no such file or directory
}
