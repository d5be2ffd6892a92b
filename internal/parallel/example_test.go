package parallel_test

import (
	"errors"
	"fmt"

	"github.com/h5dnn/h5dnn/internal/parallel"
)

// Example decodes eight chunks on two goroutines. One of them is damaged.
func Example() {
	err := parallel.Do(8, 2, func(chunk int) error {
		if chunk == 5 {
			return errors.New("chunk 5 is damaged")
		}
		return nil
	})
	fmt.Println(err)
	// Output: chunk 5 is damaged
}
