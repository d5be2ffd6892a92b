package tensortest_test

import (
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

// An operation written outside of package tensor is tested like those inside.
func ExampleCheck() {
	square := tensortest.Sample{
		Name: "square",
		Call: func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Mul(in[0]) },
		In:   []tensortest.Input{tensortest.In(3, 4).Rows()},
	}
	test := func(t *testing.T) { tensortest.Check(t, square) } // func TestSquare
	fmt.Println(square, test != nil)
	// Output: square[3 4] true
}

func TestCheckPassesForAGoodOperation(t *testing.T) {
	tensortest.Check(t, tensortest.Sample{
		Name: "square",
		Call: func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Mul(in[0]) },
		In:   []tensortest.Input{tensortest.In(3, 4).Rows()},
	})
}
