package index_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/index"
	"github.com/h5dnn/h5dnn/storage"
)

// Example lists two names of one array.
func Example() {
	a := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	entries := []serialize.Entry{{Name: "embedding", Array: a, Shared: "tied"}, {Name: "head", Array: a, Shared: "tied"}}
	text, err := index.Layout(entries, serialize.NewPlan(entries), nil).Encode()
	fmt.Println(string(text), err)
	h, err := index.Parse(string(text))
	fmt.Println(h.NameOf(0), h.TensorsOf(), err)
	// Output:
	// {"metadata":{},"storages":[{"dtype":"float32","offset":0,"nbytes":24}],"tensors":{"embedding":{"storage":0,"shape":[2,3]},"head":{"storage":0,"shape":[2,3]}}} <nil>
	// embedding [[0 1]] <nil>
}
