package source_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/kernels/device/source"
)

// What make ptx compiles for one operation.
func ExampleUnits() {
	units, err := source.Units("..")
	if err != nil {
		panic(err)
	}
	for _, u := range units {
		if u.Name == "elementwise_add" {
			fmt.Println(u.File, u.Line)
		}
	}
	// Output:
	// elementwise.cu OP(add, ANY, 2, REAL, 1, x + y)
}
