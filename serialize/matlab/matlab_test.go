package matlab_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/matlab"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

const variables, expected = "../../testdata/matlab.mat", "../../testdata/matlab.npz"

const cells = "testdata/cells.mat"

// Example reads a matrix of 3 rows and 4 columns, which HDF5 has as 4 × 3.
func Example() {
	f, err := serialize.Open(variables)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	a, err := serialize.Find(f, "A")
	if err != nil {
		fmt.Println(err)
		return
	}
	elems, err := storage.Read[float64](a)
	fmt.Println(a.Type, a.Shape, elems, err)
	// Output: float64 [3 4] [0 1 2 3 4 5 6 7 8 9 10 11] <nil>
}

// TestNumbersAreThoseOfMat73 compares arrays with what mat73 reads, which drops axes of one
// element.
func TestNumbersAreThoseOfMat73(t *testing.T) {
	got, want := serializetest.Open(t, variables), serializetest.Open(t, expected)
	for e, err := range want.All() {
		if err != nil {
			t.Fatal(err)
		}
		a, err := serialize.Find(got, e.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		squeezed := slices.DeleteFunc(slices.Clone(a.Shape), func(n int) bool { return n == 1 })
		if a.Type != e.Array.Type || !slices.Equal(squeezed, e.Array.Shape) {
			t.Errorf("%s: %v%v, want %v%v", e.Name, a.Type, a.Shape, e.Array.Type, e.Array.Shape)
			continue
		}
		if x, y := serializetest.Bytes(t, a), serializetest.Bytes(t, e.Array); !bytes.Equal(x, y) {
			t.Errorf("%s: %x, want %x", e.Name, x, y)
		}
	}
	for name, shape := range map[string][]int{"empty": {0, 3}, "nothing": {0, 0}, "scalar": {1, 1}, "logical": {1, 3}, "pattern": {5, 4}, "zeros": {2, 3}} {
		if a, err := serialize.Find(got, name); err != nil || !slices.Equal(a.Shape, shape) {
			t.Errorf("%s: shape %v, %v; want %v", name, a.Shape, err, shape)
		}
	}
}

// TestTextsAreStrings: rows of characters, and cells of texts.
func TestTextsAreStrings(t *testing.T) {
	f := serializetest.Open(t, variables)
	for name, want := range map[string][]any{
		"text": {"Grüße"}, "blank": {""}, "column": {"ab", "cd"}, "s/name": {"inner"}, "labels": {"cat", "dog", "cat"},
	} {
		e, err := serialize.Lookup(f, name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := e.Elements.Values(e.Elements.View); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}

// TestWhatIsNotReadIsListed: every variable has an entry, with the arrays of MATLAB itself left out.
func TestWhatIsNotReadIsListed(t *testing.T) {
	var unread []string
	for e, err := range serializetest.Open(t, variables).All() {
		if err != nil {
			unread = append(unread, e.Name+" "+e.Elements.Type)
		}
		if strings.HasPrefix(e.Name, "#") {
			t.Errorf("%s is listed", e.Name)
		}
	}
	if want := []string{"when datetime"}; !slices.Equal(unread, want) {
		t.Errorf("not read are %q, want %q", unread, want)
	}
}

// TestMembersAreListed: the elements of cells and of struct arrays, and what is below them, are listed
// and found by the names that MATLAB has for them.
func TestMembersAreListed(t *testing.T) {
	f := serializetest.Open(t, cells)
	var names []string
	for e, err := range f.All() {
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		found, err := serialize.Lookup(f, e.Name)
		if err != nil || found.Name != e.Name || found.Array.Data == nil && found.Elements == nil {
			t.Errorf("%s: found %v, %v", e.Name, found, err)
		}
		names = append(names, e.Name)
	}
	if want := []string{
		"c{1,1}", "c{2,1}", "c{1,2}", "c{2,2}/k", "empty", "nested{1,1}{1,1}", "nested{1,1}{2,1}", "nested{1,1}{1,2}", "nested{1,1}{2,2}/k", "nested{1,2}",
		"people/name", "people(1,1)/age", "people(1,2)/age",
	}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	for name, want := range map[string][]float64{"c{1,1}": {1}, "c{2,1}": {0, 1, 2}, "nested{1,1}{2,2}/k": {1, 0, 0, 1}, "people(1,2)/age": {42, 43}} {
		a, err := serialize.Find(f, name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := storage.Read[float64](a); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	for name, want := range map[string][]any{"c{1,2}": {"two"}, "people/name": {"Ada", "Bo"}} {
		e, err := serialize.Lookup(f, name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := e.Elements.Values(e.Elements.View); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := serialize.Lookup(f, "c"); err == nil || !strings.Contains(err.Error(), "name one, as in /c{1,1}") {
		t.Errorf("a cell: %v", err)
	}
}

func TestDamagedFilesAreErrorsOrData(t *testing.T) {
	serializetest.TestDamage(t, "matlab", variables)
}

// FuzzFile begins with files of few objects: an execution on all of them takes milliseconds.
func FuzzFile(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/seeds/*")
	f.Fuzz(serializetest.FuzzTarget("matlab"))
}
