package serializetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
)

// Expected reads testdata/expected.json, to which the scripts that make files with other
// libraries write what these hold.
func Expected[T any](t testing.TB) T {
	t.Helper()
	var want T
	b, err := os.ReadFile("testdata/expected.json")
	if err == nil {
		err = json.Unmarshal(b, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// Values are the shape and the elements of an array in testdata/expected.json.
type Values struct {
	Shape  []int
	Values []float64
}

// CheckArrays reports which arrays of a file do not have the expected shape and elements.
// The names in the file begin with prefix.
func CheckArrays(t *testing.T, f serialize.File, prefix string, arrays map[string]Values) {
	t.Helper()
	for name, want := range arrays {
		a, err := serialize.Find(f, prefix+name)
		if err != nil || !slices.Equal(a.Shape, want.Shape) {
			t.Errorf("%s: %v, %v; want shape %v", name, a, err, want.Shape)
			continue
		}
		if typ, err := dtype.Parse(name); err == nil && a.Type != typ {
			t.Errorf("%s: type %v", name, a.Type)
		}
		values := make([]complex128, len(want.Values))
		for i, x := range want.Values {
			values[i] = complex(x, 0)
		}
		if got, err := storage.Read[complex128](a); err != nil || !slices.Equal(got, values) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, values)
		}
	}
}

// TestTable reports where a table differs from testdata/expected.json, which has a list of
// values by the name of each column. It reads parts of the column float32, and that column
// after the file is closed.
func TestTable(t *testing.T, name string) {
	t.Helper()
	f, err := serialize.Open(name)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	CheckTable(t, name, f)
	a, err := serialize.Find(f, "float32")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := a.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	storagetest.TestSource(t, a, whole)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := a.To(storage.CPU); !errors.Is(err, storage.ErrState) {
		t.Errorf("%s: read after closing: %v", name, err)
	}
}

// CheckTable reports where an open table differs from testdata/expected.json.
func CheckTable(t *testing.T, name string, f serialize.File) {
	t.Helper()
	CheckColumns(t, name, f, Expected[map[string][]any](t))
}

// CheckColumns reports where columns of an open table differ from expected values.
func CheckColumns(t *testing.T, name string, f serialize.File, expected map[string][]any) {
	t.Helper()
	for column, want := range expected {
		e, err := serialize.Lookup(f, column)
		if err != nil || !slices.Equal(e.Shape(), []int{len(want)}) {
			t.Errorf("%s: %s: %v, %v", name, column, e.Shape(), err)
			continue
		}
		if typ, err := dtype.Parse(column); err == nil && e.Elements == nil && typ != e.Array.Type {
			t.Errorf("%s: %s is %v", name, column, e.Array.Type)
		}
		got, err := cells(e)
		if err != nil {
			t.Errorf("%s: %s: %v", name, column, err)
			continue
		}
		for i, x := range want {
			number, isNumber := got[i].(float64)
			missing := x == nil && (got[i] == "" || isNumber && math.IsNaN(number))
			if x != got[i] && !missing {
				t.Errorf("%s: %s, row %d: %v, want %v", name, column, i, got[i], x)
			}
		}
	}
}

// TestRepeatedNames compares a table of which several columns have one name, which scripts of package
// column wrote: the later ones get a number, and say what they were called. It is written again, with
// strings that are not UTF-8.
func TestRepeatedNames(t *testing.T, name, format string) {
	t.Helper()
	f := Open(t, name)
	want := map[string][]any{
		"x": {1.0, 2.0, 3.0}, "x.1": {1.5, nil, 3.0}, "x.y": {"a", "b", nil}, "x.y.1": {7.0, 8.0, 9.0},
		"none": {nil, nil, nil}, "bytes": {"\xff\x00b", "", nil},
	}
	CheckColumns(t, name, f, want)
	b := Rewritten(t, name, format, nil)
	again, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "again")
	if err != nil {
		t.Fatal(err)
	}
	CheckColumns(t, name+" again", again, want)
	var renamed []string
	for e, err := range f.All() {
		if renamed = append(renamed, e.Renamed); err != nil {
			t.Errorf("%s: %s: %v", name, e.Name, err)
		}
	}
	if want := []string{"", "x", "", "x.y", "", ""}; !slices.Equal(renamed, want) {
		t.Errorf("%s: names in the file %q, want %q", name, renamed, want)
	}
}

// TestNested compares the arrays of a table with lists and structs with the shapes and elements
// that a JSON file has. Other arrays must not be read.
func TestNested(t *testing.T, name, expected string) {
	t.Helper()
	text, err := os.ReadFile(expected)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct {
		Shape  []int
		Values []any
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for e, err := range f.All() {
		w, ok := want[e.Name]
		delete(want, e.Name)
		if !ok && err != nil {
			continue
		}
		got, wrong := []any(nil), err
		if err == nil {
			got, wrong = cells(e)
		}
		if wrong != nil || !slices.Equal(e.Shape(), w.Shape) || len(got) != len(w.Values) {
			t.Errorf("%s: %s: %v of %d elements, %v; want %v", name, e.Name, e.Shape(), len(got), wrong, w.Shape)
			continue
		}
		for i, x := range w.Values {
			number, isNumber := got[i].(float64)
			if missing := x == nil && (got[i] == "" || isNumber && math.IsNaN(number)); x != got[i] && !missing {
				t.Errorf("%s: %s, element %d: %v, want %v", name, e.Name, i, got[i], x)
			}
		}
	}
	for _, lost := range slices.Sorted(maps.Keys(want)) {
		t.Errorf("%s: %s is missing", name, lost)
	}
}

// cells returns the elements of a column as strings or as numbers of type float64.
func cells(e serialize.Entry) ([]any, error) {
	if e.Elements != nil {
		return e.Elements.Values(e.Elements.View)
	}
	numbers, err := storage.Read[float64](e.Array)
	list := make([]any, len(numbers))
	for i, x := range numbers {
		list[i] = x
	}
	return list, err
}

// Rewritten returns what the named file holds, written in a format with metadata.
func Rewritten(t *testing.T, name, format string, meta map[string]string) []byte {
	t.Helper()
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b bytes.Buffer
	if err := serialize.Write(&b, format, serialize.Contents{Entries: f.All(), Meta: meta}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Open opens the named file until the test ends.
func Open(t testing.TB, name string) serialize.File {
	t.Helper()
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// CheckEqual fails the test if two arrays differ in their types, shapes or elements.
func CheckEqual(t testing.TB, name string, got, want storage.Array) {
	t.Helper()
	if got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) {
		t.Errorf("%s: %v%v, want %v%v", name, got.Type, got.Shape, want.Type, want.Shape)
		return
	}
	if x, y := Bytes(t, got), Bytes(t, want); !bytes.Equal(x, y) {
		t.Errorf("%s: %x, want %x", name, x, y)
	}
}

// Bytes returns the elements of an array in row-major order.
func Bytes(t testing.TB, a storage.Array) []byte {
	t.Helper()
	a, err := a.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := a.Bytes()
	return b
}
