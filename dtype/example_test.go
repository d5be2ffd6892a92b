package dtype_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
)

func Example() {
	pixels := []float32{-3, 99.5, 300}
	wrapped, clamped := make([]uint8, 3), make([]uint8, 3)
	dtype.Convert(wrapped, dtype.Uint8, dtype.Bytes(pixels), dtype.Float32)
	dtype.Saturate(clamped, dtype.Uint8, dtype.Bytes(pixels), dtype.Float32)
	fmt.Println(wrapped, clamped)
	// Output: [253 99 44] [0 100 255]
}

func ExamplePromote() {
	fmt.Println(dtype.Promote(dtype.Int64, dtype.Float32))
	fmt.Println(dtype.Promote(dtype.Uint8, dtype.Int8))
	_, err := dtype.Promote(dtype.Float8E5M2, dtype.Float32)
	fmt.Println(err)
	// Output:
	// float32 <nil>
	// int16 <nil>
	// float8_e5m2 with float32: operations do not take float8_e5m2; convert it first: wrong type
}
