package torch_test

import (
	"archive/zip"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	_ "github.com/h5dnn/h5dnn/serialize/safetensors"
)

// structures are files that testdata/make_structure.py wrote.
func structures(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/structure_*.pt")
	if err != nil || len(names) < 9 {
		t.Fatal(names, err)
	}
	return names
}

// through writes a file in other formats, one from the other, and returns the last.
func through(t *testing.T, name string, extensions ...string) string {
	t.Helper()
	for i, extension := range extensions {
		f, err := serialize.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.Join(t.TempDir(), fmt.Sprint(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), i, extension))
		err = serialize.Save(name, "", serialize.Contents{Entries: f.All(), Meta: f.Meta()})
		if f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// TestStructureIsKept: lists, tuples, keys and the types of scalars are again what they were
// after a file was written in other formats.
func TestStructureIsKept(t *testing.T) {
	for _, name := range structures(t) {
		want := structure(t, name)
		for _, extensions := range [][]string{{".pt"}, {".safetensors", ".pt"}, {".pt", ".h5", ".pt"}} {
			if got := structure(t, through(t, name, extensions...)); got != want {
				t.Errorf("%s through %v:\n%s\nwant\n%s", name, extensions, got, want)
			}
		}
	}
}

// TestObjectsKeepTheirArrays: objects as keys and as the outermost value, and modules that are pickled
// by functions, lose their classes and no array. The files are those of testdata/make_objects.py.
func TestObjectsKeepTheirArrays(t *testing.T) {
	for name, want := range map[string]string{
		"keys": `{"program.Color(1)": tensor(int64 1)false, "program.Color(2)": tensor(int64 2)false, "program.Key": tensor(int64 3)false, ` +
			`"program.Key'2": tensor(int64 1)false, "program.Key'3": tensor(int64 2)false, "w": tensor(int64 1)false}`,
		"dict":    `{"class": "program.Settings", "epoch": int64 3, "w": tensor(int64 1)false}`,
		"graph":   `{"layers.0.bias": tensor(int64 1)false, "layers.0.weight": tensor(int64 1, int64 1)false, "scale": tensor(int64 1)false}`,
		"slashes": `{"a": {"": tensor(int64 1)false, "/": tensor(int64 2)false, "b/": {"c": tensor(int64 3)false}}}`,
		"prefix":  `{"module.": tensor(int64 1)false, "module.x": tensor(int64 2)false}`,
	} {
		for _, extensions := range [][]string{{".pt"}, {".safetensors", ".pt"}} {
			if got := structure(t, through(t, "testdata/object_"+name+".pt", extensions...)); got != want {
				t.Errorf("%s through %v: %s; want %s", name, extensions, got, want)
			}
		}
	}
}

// TestUninitialized: parameters of LazyLinear are arrays without elements.
func TestUninitialized(t *testing.T) {
	f, err := serialize.Open("testdata/object_lazy.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = serialize.Lookup(f, "0.weight")
	if want := "uninitialized arrays are not read; run the model once before it is saved"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}

// TestModulesKeepTheirVersions: load_state_dict of PyTorch finds those other than 1 in an attribute of
// each state_dict.
func TestModulesKeepTheirVersions(t *testing.T) {
	for name, group := range map[string]string{"modules": "", "modules_inside": "a"} {
		for _, extensions := range [][]string{{".pt"}, {".h5", ".pt"}} {
			d := pickled(t, through(t, "testdata/"+name+".pt", extensions...)).(*pickle.Dict)
			if value, ok := d.Get(group); ok {
				d = value.(*pickle.Dict)
			}
			if got, want := python(d.State[0]), `{"_metadata": OrderedDict{"1": {"version": int64 2}}}`; got != want {
				t.Errorf("%s through %v: %s; want %s", name, extensions, got, want)
			}
		}
	}
}

// TestPartsOfStructureStayDicts: a list of which an item is left out has no place for the others.
func TestPartsOfStructureStayDicts(t *testing.T) {
	f, err := serialize.Open("testdata/structure_list.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, err := serialize.Lookup(f, "1/a")
	if err != nil {
		t.Fatal(err)
	}
	meta := f.Meta()
	delete(meta, "2")
	name := filepath.Join(t.TempDir(), "part.pt")
	if err := serialize.Save(name, "", serialize.Contents{Entries: serialize.Entries(e), Meta: meta}); err != nil {
		t.Fatal(err)
	}
	if got, want := structure(t, name), `{int64 1: {"a": tensor(int64 2)false}, int64 3: "4"}`; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// pickled returns the value of a file of torch.save.
func pickled(t *testing.T, name string) any {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/data.pkl") {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			value, _, err := pickle.Load(r, int64(f.UncompressedSize64), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	t.Fatal("no data.pkl")
	return nil
}

// structure returns the value of a file as text. Its outermost dict, and the model in it, may be
// OrderedDicts.
func structure(t *testing.T, name string) string {
	t.Helper()
	root := pickled(t, name)
	if d, ok := root.(*pickle.Dict); ok {
		d.Class = ""
		if model, ok := d.Get("model"); ok {
			model.(*pickle.Dict).Class = ""
		}
	}
	return python(root)
}

// python returns a value as Python would show it, but for the order of dicts.
func python(value any) string {
	join := func(items []any) string {
		var list []string
		for _, item := range items {
			list = append(list, python(item))
		}
		return strings.Join(list, ", ")
	}
	switch value := value.(type) {
	case *pickle.Dict:
		var items []string
		for i, key := range value.Keys {
			items = append(items, python(key)+": "+python(value.Values[i]))
		}
		if value.Class != "OrderedDict" { // which has an order
			slices.Sort(items)
		}
		return strings.TrimPrefix(value.Class, "defaultdict") + "{" + strings.Join(items, ", ") + "}" // which is lost
	case *pickle.List:
		return value.Class + "[" + join(value.Items) + "]"
	case *pickle.Set:
		return pickle.TypeOf(value) + "(" + join(value.Items) + ")"
	case pickle.Tuple:
		return "(" + join(value) + ")"
	case *pickle.Object:
		switch {
		case value.Is("torch._utils._rebuild_tensor_v2"):
			return "tensor" + python(value.Args[2]) + fmt.Sprint(value.Args[4])
		case value.Is("pathlib.PurePosixPath"): // which torch.load refuses
			return `"/a/b"`
		case value.Is("numpy._core.multiarray.scalar", "numpy.core.multiarray.scalar"):
			return `"é"`
		}
		return fmt.Sprint(value.Class) + "(" + join(value.Args) + ")"
	case string:
		return fmt.Sprintf("%q", value)
	case []byte:
		return fmt.Sprintf("b%q", value)
	case pickle.ByteArray:
		return fmt.Sprintf("bytearray(%q)", []byte(value))
	}
	return fmt.Sprintf("%T %v", value, value)
}

const sameStructure = `
import collections, math, sys, torch
def same(a, b, path):
    kept = path.endswith((".pt", "/model", "/default")) or type(a) == type(b)
    if isinstance(a, torch.Tensor):
        assert kept and torch.equal(a, b) and a.requires_grad == b.requires_grad, path
    elif isinstance(a, dict):
        assert kept and isinstance(b, dict) and set(a) == set(b), (path, type(a), type(b), set(a) ^ set(b))
        assert type(a) != collections.OrderedDict or list(a) == list(b), path
        assert sorted(map(str, map(type, a))) == sorted(map(str, map(type, b))), path
        for k in a:
            same(a[k], b[k], f"{path}/{k}")
    elif isinstance(a, (list, tuple)):
        assert type(a) == type(b) and len(a) == len(b), (path, a, b)
        for i, x in enumerate(a):
            same(x, b[i], f"{path}/{i}")
    elif path.endswith(("/path", "/text")):
        assert str(a) == b, path
    else:
        assert type(a) == type(b) and (a == b or a != a and b != b), (path, a, b)
for a, b in zip(sys.argv[1::2], sys.argv[2::2]):
    same(torch.load(a, weights_only=False), torch.load(b, weights_only=True), a)
`

// TestPyTorchLoadsTheSameStructure with weights_only=True.
func TestPyTorchLoadsTheSameStructure(t *testing.T) {
	var args []string
	for _, name := range structures(t) {
		args = append(args, name, through(t, name, ".pt"))
	}
	if got := pythontest.Run(t, []string{"torch"}, sameStructure, args...); got != "" {
		t.Error(got)
	}
}

// TestAttributesOfTensorsAreRead of tensors and of parameters, so that a format without attributes
// counts them as lost.
func TestAttributesOfTensorsAreRead(t *testing.T) {
	f, err := serialize.Open("testdata/attributes.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := map[string]map[string]any{
		"tensor":    {"note": "a note", "scale": "0.5"},
		"parameter": {"is_frozen": "true"},
		"plain":     nil,
	}
	for e, err := range f.All() {
		if err != nil || !maps.Equal(e.Attrs, want[e.Name]) {
			t.Errorf("%s: %v %v, want %v", e.Name, e.Attrs, err, want[e.Name])
		}
		delete(want, e.Name)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}
