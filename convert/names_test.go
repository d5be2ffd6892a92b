package convert_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/arrow"
	_ "github.com/h5dnn/h5dnn/serialize/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// converted writes entries in a format, converts the file to another one, and returns the plan,
// and the entries of the result.
func converted(t *testing.T, from, to string, list ...serialize.Entry) (*convert.Plan, inspect.File) {
	t.Helper()
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	if err := serialize.Save(in, from, serialize.Contents{Entries: serialize.Entries(list...)}); err != nil {
		t.Fatal(err)
	}
	file, err := inspect.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	plan, err := convert.New(context.Background(), file, "/", to, convert.Options{Verify: true})
	if err == nil {
		err = plan.Write(context.Background(), out)
	}
	if err != nil {
		t.Fatal(err)
	}
	result, err := inspect.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { result.Close() })
	return plan, result
}

// numbered returns arrays of one element, their position.
func numbered(names ...string) (list []serialize.Entry) {
	for i, name := range names {
		list = append(list, serialize.Entry{Name: name, Array: storage.From([]int64{int64(i)}, 1)})
	}
	return list
}

// TestArraysBelowArrays are in a group with another name in HDF5, where nothing is below a
// dataset: the slots of optimizers of TensorFlow are named so.
func TestArraysBelowArrays(t *testing.T) {
	plan, out := converted(t, "native", "hdf5", numbered("w/Adam", "w", "w/Adam/m", "w'", "b", "b/c/d")...)
	if len(plan.Lost) > 0 {
		t.Errorf("lost: %v", plan.Lost)
	}
	for i, path := range []string{"/w''/Adam", "/w", "/w''/Adam'/m", "/w'", "/b", "/b'/c/d"} {
		s, err := out.Find(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := storage.Read[int64](s.Array); err != nil || !slices.Equal(got, []int64{int64(i)}) {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
}

// TestNamesWithSlashesAtTheirEnds, as ONNX has them, are written to .npz without these.
func TestNamesWithSlashesAtTheirEnds(t *testing.T) {
	plan, out := converted(t, "native", "npz", numbered("/model/weight", "a", "/a", "trail/")...)
	if len(plan.Lost) > 0 {
		t.Errorf("lost: %v", plan.Lost)
	}
	for i, path := range []string{"/model/weight", "/a", "/a'", "/trail"} {
		s, err := out.Find(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := storage.Read[int64](s.Array); err != nil || !slices.Equal(got, []int64{int64(i)}) {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
}

func texts(name string, list ...any) serialize.Entry {
	v := views.Of(len(list))
	return serialize.Entry{Name: name, Elements: &serialize.Elements{View: v, Type: "string", Values: func(views.View) ([]any, error) { return list, nil }}}
}

// TestZeroBytesInStrings are kept in HDF5. An array of strings that end in them is left out, and
// the others are converted.
func TestZeroBytesInStrings(t *testing.T) {
	plan, out := converted(t, "arrow", "hdf5", texts("inside", "a\x00b", "", "größe"), texts("end", "a\x00", "b", "c"), texts("none", "a", "b", "c"))
	if len(plan.Lost) != 1 || plan.Lost[0].Path != "/end" {
		t.Errorf("lost: %v", plan.Lost)
	}
	for path, want := range map[string][]string{"/inside": {"a\x00b", "", "größe"}, "/none": {"a", "b", "c"}} {
		s, err := out.Find(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := s.Strings(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if _, err := out.Find("/end"); err == nil {
		t.Error("strings that end in a zero byte are there")
	}
}
