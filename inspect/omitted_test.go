package inspect_test

import (
	"testing"

	"github.com/h5dnn/h5dnn/inspect"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
)

// TestTheRootNamesWhatIsOmitted: the objects that a pickle has beside arrays and metadata.
func TestTheRootNamesWhatIsOmitted(t *testing.T) {
	file, err := inspect.Open("../serialize/torch/testdata/omitted.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	objects, err := file.Entries("/")
	if err != nil {
		t.Fatal(err)
	}
	for o := range objects {
		if isRoot := o.Path == "/"; isRoot != (len(o.Omitted) > 0) {
			t.Errorf("%s: omitted %v; want some of the root alone", o.Path, o.Omitted)
		}
	}
}
