package native_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
)

// Example computes the norm of a gradient in C. Types without such a loop are computed by
// the kernel's reference.
func Example() {
	r, ok := native.ComputeTypeOf(dtype.Float32)
	fmt.Println(ok)
	sum, ok := native.SquareSum(r, 2, dtype.Bytes([]float32{3, 4}), 1)
	fmt.Println(sum, ok)
	_, ok = native.ComputeTypeOf(dtype.Int32)
	fmt.Println(ok)
	// Output:
	// true
	// 25 true
	// false
}
