package convert_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/loss"
	_ "github.com/h5dnn/h5dnn/serialize/safetensors"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
)

// TestTitlesAreLostByName in formats other than NumPy's.
func TestTitlesAreLostByName(t *testing.T) {
	file, err := inspect.Open("../serialize/npy/testdata/nested.npy")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for format, lost := range map[string]bool{"npz": false, "csv": true} {
		plan, err := convert.New(context.Background(), file, "/", format, convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(fmt.Sprint(plan.Lost), "no titles of fields"); got != lost {
			t.Errorf("%s: lost %v", format, plan.Lost)
		}
	}
}

// TestSharedElementsThatAreCopiedAreNoted where the format has no shared elements.
func TestSharedElementsThatAreCopiedAreNoted(t *testing.T) {
	file, err := inspect.Open("../testdata/checkpoint.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for format, want := range map[string]string{"npz": "a copy of model.embedding.weight", "torch": ""} {
		plan, err := convert.New(context.Background(), file, "/", format, convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		notes := ""
		for _, s := range plan.Steps {
			notes += strings.Join(s.Notes, "; ")
		}
		if !strings.Contains(notes, want) || want == "" && notes != "" {
			t.Errorf("%s: notes %q, want %q", format, notes, want)
		}
	}
}

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
