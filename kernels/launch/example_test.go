package launch_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
)

// Example names the device code that computes a kernel for two types of elements, and
// counts the blocks of 256 threads for 1000 elements.
func Example() {
	fmt.Println(launch.Entry("log softmax", dtype.BFloat16), launch.Entry("add", dtype.Int32))
	fmt.Println(launch.Ceil(1000, launch.Threads))
	// Output:
	// log_softmax_bf16 add_i64
	// 4
}
