package inspect_test

import (
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/inspect"
)

func Example() {
	file, err := inspect.Open("../testdata/digits.h5")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	objects, err := file.Entries("/test")
	if err != nil {
		panic(err)
	}
	for o := range objects {
		if o.Data == nil {
			fmt.Println(o.Path, o.Kind)
			continue
		}
		fmt.Println(o.Path, o.Kind, o.Data.DType, o.Data.Shape, o.Data.Layout, o.Data.Chunks)
	}
	// Output:
	// /test group
	// /test/images dataset uint8 [360 8 8] chunked [128 8 8]
	// /test/labels dataset uint8 [360] contiguous []
}

// TestCleanPaths: paths are compared with one leading slash and no trailing one.
func TestCleanPaths(t *testing.T) {
	for path, want := range map[string]string{"/": "/", "/x": "/x", "x/": "/x", "": "/"} {
		if got := inspect.Clean(path); got != want {
			t.Errorf("Clean(%q) = %q, want %q", path, got, want)
		}
	}
}
