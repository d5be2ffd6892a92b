package matlab_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

// TestVariablesOfOctave compares the file that Octave 7.3 wrote for testdata/octave.m with what that
// script says.
func TestVariablesOfOctave(t *testing.T) {
	cube := make([]complex128, 24) // reshape(1:24, 2, 3, 4), whose first axis is the fastest
	for i := range cube {
		cube[i] = complex(float64(i/12+i%12/4*2+i%4*6+1), 0)
	}
	type array struct {
		typ    string
		shape  []int
		values []complex128
	}
	arrays := map[string]array{
		"s/field": {"float64", []int{2, 3}, []complex128{1, 2, 3, 4, 5, 6}}, "s/nested/deep": {"int64", []int{}, []complex128{-7}},
		"s/z": {"complex128", []int{}, []complex128{3 + 4i}}, "c{1,1}": {"float64", []int{}, []complex128{1}}, "c{2,1}": {"int8", []int{}, []complex128{6}},
		"c{2,2}": {"bool", []int{}, []complex128{1}}, "c{1,3}": {"float64", []int{1, 3}, []complex128{3, 4, 5}}, "c{2,3}{1,1}": {"float64", []int{}, []complex128{7}},
		"sa(1,1)/v": {"float64", []int{}, []complex128{1}}, "sa(1,2)/v": {"float64", []int{1, 2}, []complex128{2, 3}},
		"b": {"bool", []int{2, 2}, []complex128{1, 0, 1, 1}}, "e2": {"float64", []int{0, 3}, []complex128{}}, "esp": {"float64", []int{0, 3}, []complex128{}},
		"sp": {"float64", []int{3, 4}, []complex128{5, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0}}, "bsp": {"bool", []int{2, 2}, []complex128{1, 0, 0, 1}},
		"csp": {"complex128", []int{1, 3}, []complex128{1 + 2i, 0, 3}}, "z": {"complex128", []int{1, 2}, []complex128{1 + 2i, 3}},
		"fz": {"complex64", []int{}, []complex128{1 + 2i}}, "i64": {"int64", []int{1, 2}, []complex128{1<<63 - 1, -1}}, "f": {"float32", []int{}, []complex128{1.5}},
		"r": {"float64", []int{1, 4}, []complex128{0, 0.1, 0.2, 0.3}}, "d3": {"float64", []int{2, 3, 4}, cube},
	}
	texts := map[string][]any{"s/name": {"größe"}, "c{1,2}": {"two"}, "c{2,3}{1,2}": {"x"}, "str": {"abc", "def"}, "cs": {""}, "ce": {}}
	f := serializetest.Open(t, "testdata/octave.h5")
	var names []string
	for e, err := range f.All() {
		switch {
		case e.Name == "fh":
			if err == nil || e.Elements.Type != "function handle" {
				t.Errorf("fh: %v, %v", e, err)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		names = append(names, e.Name)
		if e.Elements != nil {
			if got, err := e.Elements.Values(e.Elements.View); err != nil || !reflect.DeepEqual(got, texts[e.Name]) {
				t.Errorf("%s: %q, %v; want %q", e.Name, got, err, texts[e.Name])
			}
			continue
		}
		want := arrays[e.Name]
		got, err := storage.Read[complex128](e.Array)
		if err != nil || e.Array.Type.String() != want.typ || !slices.Equal(e.Array.Shape, want.shape) || !slices.Equal(got, want.values) {
			t.Errorf("%s: %v %v, %v; want %v", e.Name, e.Array, got, err, want)
		}
	}
	if len(names) != len(arrays)+len(texts) {
		t.Errorf("%d variables, want %d: %q", len(names), len(arrays)+len(texts), names)
	}
	if a, err := serialize.Find(f, "c{2,3}{1,1}"); err != nil || a.Len() != 1 {
		t.Errorf("found %v, %v", a, err)
	}
}

func TestDamagedFilesOfOctaveAreErrorsOrData(t *testing.T) {
	serializetest.TestDamage(t, "octave", "testdata/octave.h5")
}

func FuzzOctave(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/octave/*")
	f.Fuzz(serializetest.FuzzTarget("octave"))
}
