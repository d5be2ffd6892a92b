package anndata_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/anndata"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

const cells, expected = "../../testdata/cells.h5ad", "../../testdata/cells.npz"

// Example reads two rows of a sparse matrix.
func Example() {
	f, err := serialize.Open(cells)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	a, err := serialize.Find(f, "X")
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, _ := a.Slice(0, 0, 2, 1)
	elems, err := storage.Read[float32](a.With(rows))
	fmt.Println(a.Type, a.Shape, elems, err)
	// Output: float32 [6 5] [0 0 0 0 0.51815253 0 0 0 0.9391278 0] <nil>
}

// TestNumbersAreThoseOfAnnData compares every array of numbers with what anndata reads.
func TestNumbersAreThoseOfAnnData(t *testing.T) {
	got, want := serializetest.Open(t, cells), serializetest.Open(t, expected)
	for e, err := range want.All() {
		if err != nil {
			t.Fatal(err)
		}
		a, err := serialize.Find(got, e.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		serializetest.CheckEqual(t, e.Name, a, e.Array)
	}
}

// TestColumnsComeInTheirOrder: the columns of a dataframe, with the strings of categories.
func TestColumnsComeInTheirOrder(t *testing.T) {
	f := serializetest.Open(t, cells)
	var names []string
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Name) > 4 && e.Name[:4] == "obs/" {
			names = append(names, e.Name[4:])
		}
	}
	if want := []string{"_index", "cell type", "n", "score", "flag", "name", "nullable", "whole", "maybe", "batch", "dose"}; !slices.Equal(names, want) {
		t.Errorf("columns %q, want %q", names, want)
	}
	e, err := serialize.Lookup(f, "obs/cell type")
	if err != nil {
		t.Fatal(err)
	}
	values, err := e.Elements.Values(e.Elements.View)
	if want := []any{"B", "T", "B", "", "NK", "T"}; err != nil || !reflect.DeepEqual(values, want) {
		t.Errorf("%q, %v; want %q", values, err, want)
	}
}

func TestDamagedFilesAreErrorsOrData(t *testing.T) {
	serializetest.TestDamage(t, "anndata", cells)
}

// FuzzFile begins with files of few objects: an execution on all of them takes milliseconds.
func FuzzFile(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/seeds/*")
	f.Fuzz(serializetest.FuzzTarget("anndata"))
}
