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
	ctx, out := context.Background(), filepath.Join(dir, "digits.npz")
	plan, err := convert.New(ctx, file, "/test", "npz", convert.Options{Verify: true})
	if err != nil {
		panic(err)
	}
	if err := plan.Write(ctx, out); err != nil {
		panic(err)
	}
	for s := range plan.Arrays() {
		fmt.Println(s.To, s.Data.Shape)
	}
	fmt.Println(plan.Lost.Summary())
	// Output:
	// /images [360 8 8]
	// /labels [360]
	// lost: 2 attributes
}
