package nameindex_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/internal/nameindex"
)

// Example finds the places of names in a list that grows.
func Example() {
	var names []string
	name := func(i int) string { return names[i] }
	index := nameindex.New(0)
	for i := range 1000 {
		names = append(names, fmt.Sprint("layer.", i))
		index.Add(names[i], int32(i), name)
	}
	fmt.Println(index.Find("layer.999", name))
	fmt.Println(index.Find("layer.1000", name))
	// Output:
	// 999 true
	// 0 false
}
