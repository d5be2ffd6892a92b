package convert_test

import (
	"context"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/inspect"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
)

// TestPrefixesAreNoted converts a state_dict whose names begin with those of DistributedDataParallel
// and torch.compile, which are cut off.
func TestPrefixesAreNoted(t *testing.T) {
	file, err := inspect.Open("../serialize/torch/testdata/lightning.ckpt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const want = `names without "module._orig_mod.", with which those of the model begin in the file`
	for _, format := range []string{"torch", "native", "hdf5"} {
		plan, err := convert.New(context.Background(), file, "/", format, convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, s := range plan.Steps {
			notes = append(notes, s.Notes...)
		}
		if !slices.Contains(notes, want) {
			t.Errorf("%s: notes are %q; want %q", format, notes, want)
		}
	}
}
