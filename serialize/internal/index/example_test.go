package index_test

import (
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/index"
	"github.com/h5dnn/h5dnn/storage"
)

// Example lists two names of one array.
func Example() {
	a := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	entries, err := serialize.Format{Shares: true}.Collect(serialize.Contents{Entries: serialize.Entries(
		serialize.Entry{Name: "embedding", Array: a, Shared: "tied"}, serialize.Entry{Name: "head", Array: a, Shared: "tied"})})
	if err != nil {
		fmt.Println(err)
		return
	}
	var text strings.Builder
	_, err = index.NewLayout(entries, serialize.NewPlan(entries), nil).Encode(&text)
	fmt.Println(text.String(), err)
	h, err := index.Parse(text.String())
	fmt.Println(h.Tensors[1].Name, h.Tensors[1].Shape, err)
	// Output:
	// {"metadata":{},"storages":[{"dtype":"float32","offset":0,"nbytes":24}],"tensors":{"embedding":{"storage":0,"shape":[2,3]},"head":{"storage":0,"shape":[2,3]}}} <nil>
	// head [2 3] <nil>
}
