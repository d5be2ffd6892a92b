package samples_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

type matrix struct{}

// Example registers a call of an operation, as the files of operations do.
func Example() {
	product := func(in ...matrix) matrix { return in[0] }
	samples.Register("product", product, samples.In(2, 3), samples.In(3, 4))
	for _, s := range samples.All[matrix]() {
		fmt.Println(s, len(s.In))
	}
	// Output: product[2 3][3 4] 2
}
