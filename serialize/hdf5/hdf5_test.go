package hdf5_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

func TestFormat(t *testing.T) {
	serializetest.TestFormat(t, "hdf5", "model/hidden/weight", "model/hidden/bias", "a.b/c.d")
}

// Example saves two arrays and opens the file again.
func Example() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "run.h5")
	err := serialize.Save(name, "", serialize.Contents{
		Entries: serialize.Arrays(func(yield func(string, storage.Array) bool) {
			_ = yield("hidden.weight", storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)) &&
				yield("hidden.bias", storage.From([]float32{7, 8}, 2))
		}),
		Meta: map[string]string{"made by": "an example"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := serialize.Open(name)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	fmt.Println(f.Meta())
	for e, err := range f.All() {
		fmt.Println(e.Name, e.Array.Type, e.Array.Shape, err)
	}
	// Output:
	// map[made by:an example]
	// hidden.bias float32 [2] <nil>
	// hidden.weight float32 [2 3] <nil>
}
