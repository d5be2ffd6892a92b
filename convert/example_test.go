package convert_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/inspect"
)

// Example converts a group of an HDF5 file to an .npz file and verifies the result.
func Example() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	file, err := inspect.Open("../testdata/digits.h5")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	plan, err := convert.New(file, "/test", "npz")
	if err != nil {
		panic(err)
	}
	ctx, out := context.Background(), filepath.Join(dir, "digits.npz")
	if err := plan.Write(ctx, out); err != nil {
		panic(err)
	}
	if err := plan.Verify(ctx, out); err != nil {
		panic(err)
	}
	for _, s := range plan.Arrays() {
		fmt.Println(s.To, s.Data.Shape, s.Notes)
	}
	// Output:
	// /images [360 8 8] [2 attributes left out: npz has no attributes]
	// /labels [360] []
}
