package anndata_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
)

// TestOldAndOddFiles: the layouts of versions 0.6 and 0.7, elements that are stored twice, which
// are added, and categories that are integers, some of which are missing.
func TestOldAndOddFiles(t *testing.T) {
	count := 0
	for e, err := range serializetest.Open(t, "testdata/expected.npz").All() {
		if err != nil {
			t.Fatal(err)
		}
		file, name, _ := strings.Cut(e.Name, "/")
		a, err := serialize.Find(serializetest.Open(t, "testdata/"+file+".h5ad"), name)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		serializetest.CheckEqual(t, e.Name, a, e.Array)
		count++
	}
	if count != 8 {
		t.Errorf("%d arrays", count)
	}
}

// TestOldCategories are strings, and not listed themselves.
func TestOldCategories(t *testing.T) {
	f := serializetest.Open(t, "testdata/old07.h5ad")
	e, err := serialize.Lookup(f, "obs/kind")
	if err != nil || e.Elements == nil {
		t.Fatalf("%v, %v", e, err)
	}
	got, err := e.Elements.Values(e.Elements.View)
	if err != nil || !slices.Equal(got, []any{"B", "T", "", "B"}) || len(e.Attrs) > 0 {
		t.Errorf("%v, %v, attributes %v", got, err, e.Attrs)
	}
	for e := range f.All() {
		if strings.Contains(e.Name, "__categories") {
			t.Errorf("%s is listed", e.Name)
		}
	}
}

// TestOddElements: ragged arrays are named with their shape, so that conversions count them, and integers
// of which one is missing and that float64 does not have are strings.
func TestOddElements(t *testing.T) {
	f := serializetest.Open(t, "testdata/odd.h5ad")
	found := 0
	for e, err := range f.All() {
		switch e.Name {
		case "obsm/ragged":
			found++
			if !errors.Is(err, dtype.ErrType) || !slices.Equal(e.Shape(), []int{4}) {
				t.Errorf("%s: %v, %v", e.Name, e.Shape(), err)
			}
		case "obs/wide":
			found++
			if err != nil || e.Elements == nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			if got, err := e.Elements.Values(e.Elements.View); err != nil || !slices.Equal(got, []any{"1152921504606846976", "1", "2", ""}) {
				t.Errorf("%s: %q, %v", e.Name, got, err)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of the two are listed", found)
	}
}
