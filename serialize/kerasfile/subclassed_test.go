package kerasfile_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

// contents returns the names of the arrays of a file, in order, and their elements.
func contents(t *testing.T, f serialize.File) (names []string, elements [][]float64) {
	t.Helper()
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		x, err := storage.Read[float64](e.Array)
		if err != nil {
			t.Fatal(err)
		}
		names, elements = append(names, e.Name), append(elements, x)
	}
	return names, elements
}

// TestModelsOfOwnClassesAreWeights opens the file of a model whose layers a program defines: its
// arrays have the names of the file, and go back to their places.
func TestModelsOfOwnClassesAreWeights(t *testing.T) {
	f := serializetest.Open(t, "testdata/subclassed.keras")
	if m := f.(*kerasfile.File).Model(); m != nil {
		t.Fatalf("the model is %v; want none", m)
	}
	names, want := contents(t, f)
	for _, name := range []string{"layers/dense/vars/0", "blocks/dense_1/vars/1", "optimizer/0"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing among %v", name, names)
		}
	}
	for _, format := range []string{"keras", "keras-weights"} {
		t.Run(format, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "copy.keras")
			if format == "keras-weights" {
				name = filepath.Join(t.TempDir(), "copy.weights.h5")
			}
			if err := serialize.Save(name, format, serialize.Contents{Entries: f.All(), Meta: f.Meta()}); err != nil {
				t.Fatal(err)
			}
			copied := serializetest.Open(t, name).(*kerasfile.File)
			if err := copied.Describe(f.Meta()); err != nil { // which a .weights.h5 does not have
				t.Fatal(err)
			}
			again, have := contents(t, copied)
			if !slices.Equal(again, names) || !slices.EqualFunc(have, want, slices.Equal) {
				t.Errorf("the copy has %v; want %v with the same elements", again, names)
			}
		})
	}
}
