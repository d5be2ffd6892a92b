package blocks_test

import (
	"context"
	"fmt"

	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
)

func Example() {
	a := storage.From([]uint8{1, 2, 3, 4, 5, 6}, 3, 2)
	for elements, err := range blocks.Elements(context.Background(), a, 4) {
		fmt.Println(elements, err)
	}
	// Output:
	// [1 2 3 4] <nil>
	// [5 6] <nil>
}
