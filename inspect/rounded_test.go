package inspect_test

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/inspect"
)

// TestLongDoublesAreNamedAsRounded, because float64 has fewer bits.
func TestLongDoublesAreNamedAsRounded(t *testing.T) {
	f, err := inspect.Open("../storage/hdf5/testdata/types_latest.h5")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := map[string][]string{}
	objects, err := f.Entries("/")
	if err != nil {
		t.Fatal(err)
	}
	for o := range objects {
		if o.Data != nil {
			found[o.Path] = o.Data.Changes
		}
	}
	if want := []string{"rounded to float64 from 128 bits"}; !slices.Equal(found["/longdouble"], want) || len(found["/f8le"]) > 0 {
		t.Errorf("changes %q of a long double, %q of a double; want %q and none", found["/longdouble"], found["/f8le"], want)
	}
}
