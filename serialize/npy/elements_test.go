package npy_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// first opens a file of one entry in testdata.
func first(t *testing.T, name string, options ...serialize.Options) serialize.Entry {
	t.Helper()
	f, err := serialize.Open(filepath.Join("testdata", name), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	entries, err := serialize.Collect(f)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%s: %v, %v", name, entries, err)
	}
	return entries[0]
}

// nested is what testdata/make.py puts into nested.npy.
func nested() []any {
	var list []any
	for i := range 4 {
		pair := []any{int64(0), int64(0)}
		if i == 2 {
			pair = []any{int64(7), int64(-8)}
		}
		list = append(list, hdf5.Record{Names: []string{"x", "größe", "in", "c", "t"}, Values: []any{
			[]float32{1.5, 2, 3, 4}[i], pair,
			hdf5.Record{Names: []string{"s", "u", "b"}, Values: []any{"ab", "é", i == 0 || i == 3}},
			1 - 2i, uint64(1) << 63,
		}})
	}
	return list
}

// values are the elements that testdata/make.py wrote.
func values() map[string][]any {
	return map[string][]any{
		"text.npy":         {"a", "bc"},
		"text_big.npy":     {"größe", "", "\U0001f600"},
		"text_fortran.npy": {"a", "bc", "d", "e", "f", "g"},
		"bytes.npy":        {"a", "\xff\x00b", "", "cde"},
		"nested.npy":       nested(),
		"structured.npy": {
			hdf5.Record{Names: []string{"a", "b"}, Values: []any{float32(0), int64(0)}},
			hdf5.Record{Names: []string{"a", "b"}, Values: []any{float32(0), int64(0)}},
		},
	}
}

// TestStringsAndStructuredTypes are read, from slices too, and written again.
func TestStringsAndStructuredTypes(t *testing.T) {
	for name, want := range values() {
		e := first(t, name)
		got, err := e.Elements.Values(e.Elements.View)
		if err != nil || !equal(got, want) {
			t.Errorf("%s: %#v, %v; want %#v", name, got, err, want)
		}
		if last, err := e.Elements.View.Flip(0); err == nil {
			last, _ = last.Select(0, 0)
			n := len(want) / e.Elements.View.Shape[0]
			if got, err := e.Elements.Values(last); err != nil || !equal(got, want[len(want)-n:]) {
				t.Errorf("%s[-1]: %#v, %v; want %#v", name, got, err, want[len(want)-n:])
			}
		}
		for _, format := range []string{"npy", "npz"} {
			copied := filepath.Join(t.TempDir(), "x")
			if err := serialize.Save(copied, format, contents(e)); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			f, err := serialize.Open(copied)
			if err != nil {
				t.Fatal(err)
			}
			entries, err := serialize.Collect(f)
			if err != nil || len(entries) != 1 || !slices.Equal(entries[0].Elements.View.Shape, e.Elements.View.Shape) {
				t.Errorf("%s, again: %v, %v", name, entries, err)
				continue
			}
			if again, err := entries[0].Elements.Values(entries[0].Elements.View); err != nil || !equal(again, want) {
				t.Errorf("%s, again: %#v, %v; want %#v", name, again, err, want)
			}
			f.Close()
		}
	}
}

// contents are one entry, to be saved.
func contents(e serialize.Entry) serialize.Contents {
	return serialize.Contents{Entries: serialize.Entries(e)}
}

// TestTimesAreIntegersWithTheirType, and keep it in files that are written.
func TestTimesAreIntegersWithTheirType(t *testing.T) {
	for name, want := range map[string][]int64{"times.npy": {1709208000, -1 << 63}, "durations_big.npy": {1, -2}} {
		e := first(t, name)
		descr := map[string]string{"times.npy": "<M8[s]", "durations_big.npy": ">m8[25ms]"}[name]
		if got, err := storage.Read[int64](e.Array); err != nil || !slices.Equal(got, want) || e.Attrs[npy.Descr] != descr {
			t.Errorf("%s: %v of type %v, %v; want %v", name, got, e.Attrs, err, want)
		}
		var b bytes.Buffer
		if err := serialize.Write(&b, "npy", contents(e)); err != nil {
			t.Fatal(err)
		}
		if again := read(t, b.Bytes()); again.Attrs[npy.Descr] != "<"+descr[1:] {
			t.Errorf("%s: written as %v", name, again.Attrs)
		}
	}
}

// TestBFloat16IsReadWhereItIsSaid: NumPy writes only that elements have two bytes.
func TestBFloat16IsReadWhereItIsSaid(t *testing.T) {
	if f, err := serialize.Open("testdata/bfloat16.npy"); !errors.Is(err, dtype.ErrType) {
		t.Errorf("%v, %v; want dtype.ErrType", f, err)
	}
	e := first(t, "bfloat16.npy", serialize.Options{Void: dtype.BFloat16})
	if got, err := storage.Read[float32](e.Array); err != nil || !slices.Equal(got, []float32{1, -2.5}) {
		t.Errorf("%v, %v", got, err)
	}
	want, err := os.ReadFile("testdata/bfloat16.npy")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := serialize.Write(&b, "npy", contents(e)); err != nil || !bytes.Equal(b.Bytes(), want) {
		t.Errorf("written as %q, %v; want %q", b.Bytes(), err, want)
	}
}

// TestPython2FilesAreRead, whose sizes end in an L.
func TestPython2FilesAreRead(t *testing.T) {
	e := first(t, "python2.npy")
	if got, err := storage.Read[int16](e.Array); err != nil || !slices.Equal(got, []int16{0, 1, 2, 3, 4, 5}) || !slices.Equal(e.Array.Shape, []int{3, 2}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestElementsThatNumPyCannotHold are errors.
func TestElementsThatNumPyCannotHold(t *testing.T) {
	for name, list := range map[string][]any{
		"a zero at the end": {"a\x00"},
		"two types":         {"a", int64(1)},
		"other fields":      {hdf5.Record{Names: []string{"a"}, Values: []any{"x"}}, hdf5.Record{Names: []string{"b"}, Values: []any{"x"}}},
		"other lengths":     {[]any{int64(1)}, []any{int64(1), int64(2)}},
		"unknown":           {hdf5.Reference{}, hdf5.Reference{}},
	} {
		e := serialize.Entry{Name: "x", Elements: &serialize.Elements{View: views.Of(len(list)), Type: "string", Values: func(v views.View) ([]any, error) { return list, nil }}}
		if err := serialize.Write(new(bytes.Buffer), "npy", contents(e)); err == nil {
			t.Errorf("%s: written", name)
		}
	}
}

// TestFieldsKeepTheirTypes: structured elements are written with the types that the file has, not with
// those of Go's values, and those that NumPy does not have are errors.
func TestFieldsKeepTheirTypes(t *testing.T) {
	var b bytes.Buffer
	if err := serialize.Write(&b, "npy", contents(first(t, "nested.npy"))); err != nil {
		t.Fatal(err)
	}
	const want = `[('x', '<f4'), ('größe', '<i2', (2,)), ('in', [('s', '<U2'), ('u', '<U1'), ('b', '|b1')]), ('c', '<c8'), (('a title', 't'), '<u8')]`
	if !bytes.Contains(b.Bytes(), []byte(want)) {
		t.Errorf("written as %.300q; want %s", b.Bytes(), want)
	}

	fields := []serialize.Field{
		{Name: "when", Type: "int64", Number: dtype.Int64, Descr: "<M8[s]"}, {Name: "half", Type: "float16", Number: dtype.Float16},
		{Name: "text", Type: "string"}, {Name: "grid", Type: "int8", Number: dtype.Int8, Shape: []int{1, 2}},
	}
	record := func(values ...any) []any {
		return []any{hdf5.Record{Names: []string{"when", "half", "text", "grid"}, Values: values}}
	}
	write := func(fields []serialize.Field, list []any) ([]byte, error) {
		var b bytes.Buffer
		err := serialize.Write(&b, "npy", contents(serialize.Entry{Name: "x", Elements: &serialize.Elements{View: views.Of(len(list)), Type: "compound", Fields: fields, Values: func(views.View) ([]any, error) { return list, nil }}}))
		return b.Bytes(), err
	}
	const header = `[('when', '<M8[s]'), ('half', '<f2'), ('text', '<U1'), ('grid', '<i1', (1, 2,))]`
	elements := append([]byte{7, 0, 0, 0, 0, 0, 0, 0, 0, 0x3e}, 0, 0, 0, 0, 0xff, 3) // 1.5 is 0x3e00
	got, err := write(fields, record(int64(7), 1.5, "", []any{[]any{int64(-1), int64(3)}}))
	if err != nil || !bytes.Contains(got, []byte(header)) || !bytes.HasSuffix(got, elements) {
		t.Errorf("written as %q, %v", got, err)
	}
	if got, err := write(fields, nil); err != nil || !bytes.Contains(got, []byte(`('half', '<f2'), ('text', '<U1')`)) {
		t.Errorf("no elements: %q, %v", got, err)
	}
	if _, err := write(fields, record(1.5, 1.5, "", []any{[]any{int64(-1), int64(3)}})); !errors.Is(err, dtype.ErrType) {
		t.Errorf("a float in a field of times: %v", err)
	}
	fields[2] = serialize.Field{Name: "text", Type: "sequence", Varies: true}
	format, _ := serialize.ByName("npz")
	e := serialize.Entry{Name: "x", Elements: &serialize.Elements{Type: "compound", Fields: fields}}
	if err := format.Fits(e); !errors.Is(err, dtype.ErrType) {
		t.Errorf("lists of any length fit: %v", err)
	}
}

// TestNumPyReadsWhatIsWritten compares with NumPy's own reader, and archives.
func TestNumPyReadsWhatIsWritten(t *testing.T) {
	dir := t.TempDir()
	for name := range values() {
		if err := serialize.Save(filepath.Join(dir, name), "npy", contents(first(t, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, typ := range dtype.All() {
		a, err := storage.Make(storage.CPU, typ, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := storage.From([]float64{0, 1, 2, 3, 4, 5}, 2, 3).CopyTo(a); err != nil {
			t.Fatal(err)
		}
		if format, _ := serialize.ByName("npy"); format.Holds(typ) {
			if err := serialize.Save(filepath.Join(dir, "number_"+typ.String()+".npy"), "", contents(serialize.Entry{Name: "x", Array: a})); err != nil {
				t.Fatal(err)
			}
		}
	}
	const script = `
import glob, os, sys
import json
import numpy as np
text = lambda x: json.dumps(x, default=lambda v: v.tolist() if isinstance(v, np.ndarray) else v.decode('latin1') if isinstance(v, bytes) else repr(v))
ours, theirs = sys.argv[1:]
for path in glob.glob(ours + "/number_*.npy"):
    x = np.load(path)
    assert str(x.dtype) == os.path.basename(path)[7:-4], (path, x.dtype)
    assert (x == np.arange(6).reshape(2, 3).astype(x.dtype)).all(), (path, x)
    print("number")
for path in glob.glob(ours + "/[!n]*.npy") + [ours + "/nested.npy"]:
    x, y = np.load(path), np.load(theirs + "/" + os.path.basename(path))
    assert x.shape == y.shape and text(x.tolist()) == text(y.tolist()), (path, x, y)
    assert os.path.getsize(path) % 64 == x.nbytes % 64, path
    print("elements")
`
	got := pythontest.Run(t, []string{"numpy"}, script, dir, "testdata")
	if numbers, elements := bytes.Count([]byte(got), []byte("number")), bytes.Count([]byte(got), []byte("elements")); numbers != 14 || elements != len(values()) {
		t.Errorf("NumPy reads %d files of numbers and %d of other elements: %s", numbers, elements, fmt.Sprint(got))
	}
}
