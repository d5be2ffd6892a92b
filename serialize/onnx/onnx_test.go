package onnx_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

// Example lists an initializer whose elements are in another file.
func Example() {
	f, err := serialize.Open("testdata/external.onnx")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	a, err := serialize.Find(f, "int64")
	if err != nil {
		fmt.Println(err)
		return
	}
	elements, err := storage.Read[int64](a)
	fmt.Println(a.Shape, elements, err, f.Meta()["opset.ai.onnx"])
	// Output: [2 3] [0 1 2 3 -1 -2] <nil> 21
}

// TestConstantsAndGraphsOfNodes lists numbers in attributes, and what is in the branches of If.
func TestConstantsAndGraphsOfNodes(t *testing.T) {
	f := serializetest.Open(t, "testdata/graphs.onnx")
	got := map[string]string{}
	for e, err := range f.All() {
		if err != nil {
			got[e.Name] = fmt.Sprint(e.Shape(), err)
			continue
		}
		values, err := storage.Read[float64](e.Array)
		if err != nil {
			t.Error(err)
		}
		got[e.Name] = fmt.Sprint(e.Array.Type, e.Array.Shape, values)
	}
	want := map[string]string{
		"w": "float32 [1] [1]", "floats": "float32 [2] [0.5 -1]", "float": "float32 [] [2.5]", "ints": "int64 [3] [-1 2 300]", "int": "int64 [] [-7]",
		"sparse": "[2 3] sparse tensors are not read; store it as a dense one: wrong type",
	}
	for prefix, value := range map[string]int{
		"If 5/then_branch/": 1, "If 5/else_branch/": 2, "gate/then_branch/If 1/then_branch/": 1, "gate/then_branch/If 1/else_branch/": 2, "gate/else_branch/": 3,
	} {
		for _, again := range []string{"", "'"} {
			if again == "" || strings.HasPrefix(prefix, "gate/") {
				want[prefix+"w"+again] = fmt.Sprintf("float32 [2] [%d %d]", value, value)
				want[prefix+"c"+again] = fmt.Sprintf("int64 [] [%d]", value)
			}
		}
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s, want %s", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d arrays, want %d: %q", len(got), len(want), got)
	}
}

// TestFilesOfONNX compares what testdata/make.py wrote: elements in fields of their type,
// as bytes, and in another file.
func TestFilesOfONNX(t *testing.T) {
	want := serializetest.Expected[map[string]serializetest.Values](t)
	for _, name := range []string{"typed.onnx", "raw.onnx", "external.onnx"} {
		f, err := serialize.Open(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		serializetest.CheckArrays(t, f, "", want)
		if meta := f.Meta(); meta["producer_name"] != "make.py" || meta["author"] != "größe" || meta["opset.ai.onnx.ml"] != "3" || meta["graph"] != "main" {
			t.Errorf("%s: metadata %q", name, meta)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOtherTensors: scalars, empty ones, strings, those of Constant nodes, and types that
// are not known.
func TestOtherTensors(t *testing.T) {
	f := serializetest.Open(t, "testdata/typed.onnx")
	for name, shape := range map[string][]int{"scalar": {}, "empty": {0, 3}, "constant_output": {3}} {
		if a, err := serialize.Find(f, name); err != nil || !slices.Equal(a.Shape, shape) {
			t.Errorf("%s: %v, %v", name, a, err)
		} else if _, err := a.To(storage.CPU); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	e, err := serialize.Lookup(f, "text")
	if err != nil {
		t.Fatal(err)
	}
	if values, err := e.Elements.Values(e.Elements.View); err != nil || !reflect.DeepEqual(values, []any{"a", "größe"}) {
		t.Errorf("strings: %v, %v", values, err)
	}
	if e, err := serialize.Lookup(f, "int4"); !errors.Is(err, dtype.ErrType) || e.Elements == nil || e.Elements.Type != "INT4" {
		t.Errorf("INT4: %v, %v", e, err)
	}
}

// TestExternalDataIsReadFromItsFolder only, wherever the model is.
func TestExternalDataIsReadFromItsFolder(t *testing.T) {
	model, err := os.Open("testdata/external.onnx")
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	info, _ := model.Stat()
	for folder, ok := range map[string]bool{"": false, "testdata": true, "testdata/attacks": false} {
		f, err := serialize.OpenReader(model, info.Size(), "model", serialize.Options{Follow: folder})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := serialize.Find(f, "int64"); (err == nil) != ok {
			t.Errorf("data in %q: %v", folder, err)
		}
		f.Close()
	}
}

func TestAttacks(t *testing.T) {
	folder := t.TempDir() // with a symbolic link, which an archive could make
	if err := os.CopyFS(folder, os.DirFS("testdata/attacks")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{
		"path_up": "leads out of the folder", "absolute_path": "leads out of the folder", "path_up_in_the_middle": "leads out of the folder",
		"symbolic_link": "path escapes from parent", "folder_as_data": "not a regular file", "no_location": "leads out of the folder", "missing_file": "is not beside the model",
		"negative_offset": `offset of external data is "-8"`, "offset_beyond_file": "bytes 9223372036854775800 to", "overlap": "external data: the elements overlap those of", "length_differs": "4 bytes of external data are declared",
		"huge_shape": "overflows", "negative_size": "negative size", "many_axes": "more than 64 axes", "raw_too_short": "takes 8 bytes, but there are 4",
		"raw_too_long": "takes 8 bytes, but there are 12", "many_elements": "more elements than the 4 bytes", "few_elements": "bytes of elements", "other_field": "in field 7 instead of 4",
		"few_strings": "1 strings for shape", "unknown_type": "unknown (99)", "sub_byte_type": "type INT4", "name_twice": "duplicate name",
		"deep_graphs": "more than 100 graphs within each other",
		"truncated":   "beyond the end of its message", "endless_integer": "has no end",
	}
	for name, reason := range reasons {
		serializetest.TestAttack(t, "onnx", filepath.Join(folder, name+".onnx"), reason)
	}
	files, err := filepath.Glob("testdata/attacks/*.onnx")
	if err != nil || len(files) != len(reasons) {
		t.Errorf("%d attacks and %d reasons, %v", len(files), len(reasons), err)
	}
}

// TestDamageWithinATensorIsAnError: its fields are not taken as far as they can be read.
func TestDamageWithinATensorIsAnError(t *testing.T) {
	field := func(tag byte, content ...byte) []byte { return append([]byte{tag, byte(len(content))}, content...) }
	external := field(13<<3|2, 1<<3|2, 5, 'a') // a key of 5 bytes, of which there is one
	tensor := slices.Concat([]byte{1 << 3, 2, 2 << 3, 1}, field(8<<3|2, 'w'), external)
	model := slices.Concat([]byte{1 << 3, 7}, field(7<<3|2, field(5<<3|2, tensor...)...))
	serializetest.TestAttackBytes(t, "onnx", "model", model, "a field reaches beyond the end of its message")
}

// modelOf returns a model of one tensor, of which fields are given after its shape, type and name.
func modelOf(fields ...[]byte) []byte {
	tensor := slices.Concat([]byte{1 << 3, 1, 2 << 3, 1}, field(8<<3|2, "w"), slices.Concat(fields...))
	return slices.Concat([]byte{1 << 3, 7}, field(7<<3|2, string(field(5<<3|2, string(tensor)))))
}

func field(tag byte, content string) []byte {
	return append([]byte{tag, byte(len(content))}, content...)
}

// TestExternalDataHasTheNameOfAFile: one with a zero byte is refused as such.
func TestExternalDataHasTheNameOfAFile(t *testing.T) {
	location := slices.Concat(field(1<<3|2, "location"), field(2<<3|2, "a\x00b"))
	model := modelOf(field(13<<3|2, string(location)), []byte{14 << 3, 1})
	f, err := serialize.OpenReader(bytes.NewReader(model), int64(len(model)), "model", serialize.Options{Follow: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for e, err := range f.All() {
		if want := `external data: "a\x00b" is no name of a file`; e.Name != "w" || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v; want %s", e.Name, err, want)
		}
	}
}

// TestDocumentationIsAnAttribute of the tensor.
func TestDocumentationIsAnAttribute(t *testing.T) {
	model := modelOf(field(12<<3|2, "of the head"), field(9<<3|2, "\x00\x00\x80\x3f"))
	f, err := serialize.OpenReader(bytes.NewReader(model), int64(len(model)), "model")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, err := serialize.Lookup(f, "w")
	if got := e.Attrs["doc_string"]; err != nil || got != "of the head" {
		t.Errorf("doc_string %v, %v", got, err)
	}
}

func FuzzOpen(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/*.onnx", "testdata/attacks/*.onnx")
	f.Fuzz(serializetest.FuzzTarget("onnx", "testdata"))
}

// TestArraysOutsideTheGraph lists what is in functions and in the graphs of training, and the
// strings of constants.
func TestArraysOutsideTheGraph(t *testing.T) {
	f := serializetest.Open(t, "testdata/elsewhere.onnx")
	got := map[string]string{}
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Elements == nil {
			values, err := storage.Read[float64](e.Array)
			got[e.Name] = fmt.Sprint(values, err)
			continue
		}
		values, err := e.Elements.Values(e.Elements.View)
		got[e.Name] = fmt.Sprint(e.Shape(), values, err)
	}
	want := map[string]string{
		"w": "[1] <nil>", "text": "[] [größe] <nil>", "texts": "[2] [a bc] <nil>", "my.domain.Scale/k": "[2 2] <nil>",
		"training/initialization/k": "[3 3] <nil>", "training/algorithm/k": "[4 4] <nil>",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
