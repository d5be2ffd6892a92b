package images_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/kernels/native/images"
)

// A row of four pixels moves half a pixel to the left.
func Example() {
	row := &images.Image{C: 1, H: 1, W: 4, Channel: 4, Row: 4, Pixel: 1}
	moved := make([]byte, 4)
	w := images.Warp{M: [6]int64{1 << 32, 0, 1 << 31, 0, 1 << 32, 0}, Samples: 1, Border: images.BorderEdge}
	w.Apply(images.Bytes, row, moved, row, []byte{0, 10, 20, 30})
	fmt.Println(moved)
	// Output: [5 15 25 30]
}
