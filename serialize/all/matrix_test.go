package all_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// tried says which test writes arrays of every type with rank 0, without elements, strided, shared,
// big-endian and with names beyond ASCII in a format, or why none does. Tables are tried here.
var tried = map[string]string{
	"native": "TestFormat of package native", "hdf5": "TestFormat of package hdf5", "h5ck": "TestFormat of package h5ck",
	"h5ck-exact": "TestFormat of package h5ck: as h5ck, with strides", "npy": "TestFormats of package npy", "npz": "TestFormats of package npy",
	"torch": "TestFormat of package torch", "safetensors": "TestFormat of package safetensors", "sharded": "TestTypes of package sharded",
	"keras-h5": "TestEveryTypeIsKept of package keras", "keras": "TestEveryTypeIsKept of package keras", "keras-weights": "TestEveryTypeIsKept of package keras",
	"png": "has images of uint8, which the tests of package png write", "raw": "has elements alone, which the tests of package raw write",
}

// TestEveryFormatIsTried walks the formats that are written.
func TestEveryFormatIsTried(t *testing.T) {
	for _, name := range serialize.Formats() {
		f, err := serialize.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case f.Save == nil && f.SaveFile == nil:
		case f.Table:
			for _, rows := range []int{0, 1, 7} {
				t.Run(fmt.Sprintf("%s/%d rows", name, rows), func(t *testing.T) { testTable(t, f, rows) })
			}
		case tried[name] == "":
			t.Errorf("no test writes every type in every layout as %s, and no reason is given", name)
		}
	}
}

// testTable writes columns of all types in every layout. A column has one axis, so that a scalar is
// refused, and text has no types.
func testTable(t *testing.T, f serialize.Format, rows int) {
	types := f.Types
	if types == nil {
		types = []dtype.Type{dtype.Float64}
	}
	var want []serialize.Entry
	for _, typ := range types {
		b := make([]byte, 3*rows*typ.Size())
		for i := range b {
			if b[i] = byte(7*i + 3); typ == dtype.Bool || i%typ.Size() == typ.Size()-1 {
				b[i] = byte(i/typ.Size()) % 2 // no NaN
			}
		}
		a := storage.Array{Data: storage.Wrap(b), Type: typ, View: storage.From(make([]int8, 3*rows), rows, 3).View}
		column, _ := a.Select(1, 2)
		reversed := column
		if rows > 0 {
			reversed.Offset, reversed.Stride = column.Offset+(rows-1)*3, []int{-3}
		}
		first, _ := a.Select(1, 0)
		first, _ = first.Slice(0, 0, rows, 1)
		for layout, view := range map[string]storage.Array{"列": a.With(column), "обратно": a.With(reversed), "Übereck": a.With(first), "big-endian": swapped(a.With(column))} {
			want = append(want, serialize.Entry{Name: typ.String() + " " + layout, Array: view})
		}
	}
	slices.SortFunc(want, func(x, y serialize.Entry) int { return bytes.Compare([]byte(x.Name), []byte(y.Name)) })
	name := filepath.Join(t.TempDir(), "x"+f.Extensions[0])
	if err := serialize.Save(name, f.Name, serialize.Contents{Entries: serialize.Entries(want...)}); err != nil {
		t.Fatal(err)
	}
	in, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, e := range want {
		got := find(t, in, e.Name)
		if !f.Plain && got.Array.Type != e.Array.Type || !slices.Equal(numbersOf(t, got), numbersOf(t, e)) {
			t.Errorf("%s: %v %v; want %v %v", e.Name, got.Array.Type, numbersOf(t, got), e.Array.Type, numbersOf(t, e))
		}
	}
	scalar := serialize.Entry{Name: "x", Array: storage.From([]float64{1})}
	if err := serialize.Save(name, f.Name, serialize.Contents{Entries: serialize.Entries(want[0], scalar)}); err == nil {
		t.Error("a scalar beside a column is no error")
	}
}

func numbersOf(t *testing.T, e serialize.Entry) []float64 {
	t.Helper()
	x, err := storage.Read[float64](e.Array)
	if err != nil {
		t.Errorf("%s: %v", e.Name, err)
	}
	return x
}

// swapped returns the elements of an array from big-endian bytes.
func swapped(a storage.Array) storage.Array {
	var b bytes.Buffer
	reverse := storage.Array{Data: serialize.Normalize(serialize.AsSource(a.Data), a.Type, binary.BigEndian), Type: a.Type, View: a.View}
	if _, err := reverse.WriteTo(&b); err != nil { // reversed, if the machine is little-endian
		panic(err)
	}
	return storage.Array{Data: serialize.Normalize(serialize.AsSource(storage.Wrap(b.Bytes())), a.Type, binary.BigEndian), Type: a.Type, View: storage.From(make([]int8, a.Len()), a.Len()).View}
}
