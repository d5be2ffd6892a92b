package byname_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/byname"
)

// Example computes a softmax and its gradient into memory that exists.
func Example() {
	x := tensor.New([][]float32{{0, 0}, {1, 1}})
	y, dx := tensor.Zeros(dtype.Float32, 2, 2), tensor.Zeros(dtype.Float32, 2, 2)
	softmax, err := byname.Bind("softmax", []byte(`{"dim": 1}`), x)
	if err != nil {
		panic(err)
	}
	if err := softmax.Into(y); err != nil {
		panic(err)
	}
	if err := softmax.VJP([]*tensor.Tensor{tensor.New([][]float32{{1, 0}, {0, 0}})}, []*tensor.Tensor{dx}); err != nil {
		panic(err)
	}
	fmt.Println(y)
	fmt.Println(dx)
	// Output:
	// [[0.5 0.5]
	//  [0.5 0.5]] float32[2 2]
	// [[ 0.25 -0.25]
	//  [ 0.    0.  ]] float32[2 2]
}
