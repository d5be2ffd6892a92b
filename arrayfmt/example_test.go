package arrayfmt_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/storage"
)

func Example() {
	text, err := arrayfmt.Format(storage.From([]float64{1, 0.25, -3, 1000}, 2, 2), arrayfmt.LineWidth)
	if err != nil {
		panic(err)
	}
	fmt.Println(text)
	// Output:
	// [[ 1.0e+00  2.5e-01]
	//  [-3.0e+00  1.0e+03]]
}
