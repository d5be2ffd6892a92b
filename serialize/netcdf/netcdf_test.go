package netcdf_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/netcdf"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
)

const climate, expected = "../../testdata/climate.nc", "../../testdata/climate.npz"

// Example reads packed temperatures, of which one is missing.
func Example() {
	f, err := serialize.Open(climate)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	a, err := serialize.Find(f, "temperature")
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _ := a.Select(0, 0)
	elems, err := storage.Read[float64](a.With(first))
	fmt.Println(a.Type, a.Shape, elems, err)
	// Output: float64 [4 3 2] [273.15 274.15 275.15 NaN 277.15 278.15] <nil>
}

// TestNumbersAreThoseOfXarray compares every variable of numbers with what xarray reads.
func TestNumbersAreThoseOfXarray(t *testing.T) {
	got, want := serializetest.Open(t, climate), serializetest.Open(t, expected)
	n := 0
	for e, err := range want.All() {
		if err != nil {
			t.Fatal(err)
		}
		name := e.Name
		if name == "station" { // the dimension has that name
			name = "_nc4_non_coord_station"
		}
		a, err := serialize.Find(got, name)
		if err != nil {
			t.Error(err)
			continue
		}
		serializetest.CheckEqual(t, e.Name, a, e.Array)
		n++
	}
	all := 0
	for e, err := range got.All() {
		if err != nil {
			t.Error(err)
		}
		for attribute := range e.Attrs {
			if strings.HasPrefix(attribute, "_") && e.Name != "plain" || attribute == "scale_factor" {
				t.Errorf("%s has attribute %s, which decoding accounts for", e.Name, attribute)
			}
		}
		if e.Elements == nil {
			all++
		}
	}
	if all != n {
		t.Errorf("%d arrays of numbers, want %d", all, n)
	}
}

// TestCharactersAreStrings: the last axis of an array of characters is that of a string.
func TestCharactersAreStrings(t *testing.T) {
	e, err := serialize.Lookup(serializetest.Open(t, climate), "name")
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Elements.View.Flip(0)
	if err != nil {
		t.Fatal(err)
	}
	values, err := e.Elements.Values(v)
	if want := []any{"Rom", "Oslo"}; err != nil || !reflect.DeepEqual(values, want) {
		t.Errorf("%q, %v; want %q", values, err, want)
	}
}

func TestDamagedFilesAreErrorsOrData(t *testing.T) {
	serializetest.TestDamage(t, "netcdf", climate)
}

// FuzzFile begins with files of few objects: an execution on all of them takes milliseconds.
func FuzzFile(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/seeds/*")
	f.Fuzz(serializetest.FuzzTarget("netcdf"))
}

// TestVariablesOfUnlimitedDimensions: a variable is as long as its unlimited dimension, and rows that were
// not written have the fill value, as libnetcdf has it. The numbers are those that
// testdata/make_unlimited.py prints, with NaN for a fill value in an attribute.
func TestVariablesOfUnlimitedDimensions(t *testing.T) {
	f := serializetest.Open(t, "testdata/unlimited.nc")
	nan := math.NaN()
	for name, want := range map[string]struct {
		shape  []int
		values []float64
	}{
		"long":      {[]int{5}, []float64{0, 1, 2, 3, 4}},
		"short":     {[]int{5, 2}, []float64{1, 2, 3, 4, -32767, -32767, -32767, -32767, -32767, -32767}},
		"big":       {[]int{5}, []float64{1, 2, 3, nan, nan}},
		"plain":     {[]int{5}, []float64{1, 2, nan, nan, nan}},
		"unwritten": {[]int{2, 5}, []float64{-127, -127, -127, -127, -127, -127, -127, -127, -127, -127}},
	} {
		a, err := serialize.Find(f, name)
		if err != nil || !slices.Equal(a.Shape, want.shape) {
			t.Errorf("%s: %v, %v; want shape %v", name, a, err, want.shape)
			continue
		}
		got, err := storage.Read[float64](a)
		if err != nil || !slices.EqualFunc(got, want.values, func(x, y float64) bool { return x == y || x != x && y != y }) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want.values)
		}
		whole, err := a.To(storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		storagetest.TestSource(t, a, whole)
	}
	if _, err := serialize.Find(f, "across"); err == nil || !strings.Contains(err.Error(), "has shape [2 1], and its dimensions [2 3]") {
		t.Errorf("across: %v", err)
	}
}
