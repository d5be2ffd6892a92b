package convert_test

import (
	"context"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/loss"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
)

// TestOmittedIsLost: what a file has beside arrays and metadata is lost by name, in every format.
func TestOmittedIsLost(t *testing.T) {
	file, err := inspect.Open("../serialize/torch/testdata/omitted_module.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, format := range []string{"npz", "torch", "hdf5"} {
		plan, err := convert.New(context.Background(), file, "/", format, convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/mask", "/table", "/layer.scale"} {
			if !slices.ContainsFunc(plan.Lost, func(i loss.Item) bool { return i.Path == path }) {
				t.Errorf("%s: %s is not lost by name: %v", format, path, plan.Lost)
			}
		}
		if plan.Lost.Avoidable() {
			t.Errorf("%s: no format has these, so that the copy is complete: %v", format, plan.Lost)
		}
	}
}
