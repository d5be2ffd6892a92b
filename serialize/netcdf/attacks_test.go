package netcdf_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// written returns the path of a file that fill has filled.
func written(t *testing.T, name string, fill func(w *hdf5write.Writer) error) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".nc")
	w, err := hdf5write.Create(file, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{w.SetAttr("/", "_NCProperties", "version=2"), fill(w), w.Close()} {
		if step != nil {
			t.Fatalf("%s: %v", name, step)
		}
	}
	return file
}

// variable returns a function that writes x with an attribute.
func variable(elements storage.Array, attribute string, value any) func(w *hdf5write.Writer) error {
	return func(w *hdf5write.Writer) error {
		if err := w.Write("/x", elements); err != nil {
			return err
		}
		return w.SetAttr("/x", attribute, value)
	}
}

// TestAttacks: each file has one variable that lies, and is refused with its reason.
func TestAttacks(t *testing.T) {
	two := storage.From([]int16{1, 2}, 2)
	for name, attack := range map[string]struct {
		reason string
		fill   func(w *hdf5write.Writer) error
	}{
		"many_scales":    {"attribute scale_factor: [3] numbers; want one", variable(two, "scale_factor", []float64{1, 2, 3})},
		"no_scale":       {"attribute scale_factor: [0] numbers; want one", variable(two, "scale_factor", []float64{})},
		"many_offsets":   {"attribute add_offset: [2] numbers; want one", variable(two, "add_offset", []float32{1, 2})},
		"offset_of_text": {"attribute add_offset", variable(two, "add_offset", "12")},
		"large_integer":  {"would change; read the file as hdf5", variable(storage.From([]int64{1<<53 + 1, 2}, 2), "_FillValue", []int64{2})},
		"link_to_itself": {"x", func(w *hdf5write.Writer) error { return w.SoftLink("/x", "/x") }},
	} {
		if name == "link_to_itself" { // which is not a variable, and no error
			f := serializetest.Open(t, written(t, name, attack.fill))
			for e := range f.All() {
				t.Errorf("%s: %s is listed", name, e.Name)
			}
			continue
		}
		serializetest.TestAttack(t, "netcdf", written(t, name, attack.fill), attack.reason)
	}
}

// TestOddAttributesAreNotFollowed: what looks like NetCDF's bookkeeping and is not leaves the
// variable as HDF5 has it.
func TestOddAttributesAreNotFollowed(t *testing.T) {
	four := storage.From([]int32{1, 2, 3, 4}, 2, 2)
	for name, fill := range map[string]func(w *hdf5write.Writer) error{
		"numbers_of_no_dimensions": variable(four, "_Netcdf4Coordinates", []int32{1 << 30, -5}),
		"numbers_of_many":          variable(four, "_Netcdf4Coordinates", make([]int32, 1000)),
		"list_of_numbers":          variable(four, "DIMENSION_LIST", []int32{1, 2}),
		"fill_of_text":             variable(four, "_FillValue", "none"),
		"fill_out_of_range":        variable(four, "missing_value", []float64{1e300}),
		"empty_fill":               variable(four, "_FillValue", []int32{}),
		"unsigned_of_yes":          variable(four, "_Unsigned", "yes"),
	} {
		a, err := serialize.Find(serializetest.Open(t, written(t, name, fill)), "x")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := storage.Read[int32](a); err != nil || len(got) != 4 || got[3] != 4 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestLargeIntegersThatAreMissing are NaN whatever their value.
func TestLargeIntegersThatAreMissing(t *testing.T) {
	file := written(t, "missing", variable(storage.From([]int64{-1 << 63, 1<<53 - 1}, 2), "_FillValue", []int64{-1 << 63}))
	a, err := serialize.Find(serializetest.Open(t, file), "x")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := storage.Read[float64](a); err != nil || got[0] == got[0] || got[1] != 1<<53-1 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestVariablesWithTheNameOfADimension are listed as NetCDF calls them, and found so.
func TestVariablesWithTheNameOfADimension(t *testing.T) {
	const file = "testdata/seeds/dimensions.nc"
	f := serializetest.Open(t, file)
	list, err := serialize.Collect(f)
	if err != nil || len(list) != 2 || list[0].Name != "y" && list[1].Name != "y" {
		t.Errorf("%v, %v", list, err)
	}
	if e, err := serialize.Lookup(f, "y"); err != nil || e.Name != "y" || !slices.Equal(e.Shape(), []int{3, 2}) {
		t.Errorf("%v, %v", e, err)
	}
	shown, err := inspect.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	objects, err := shown.Entries("/")
	if err != nil {
		t.Fatal(err)
	}
	paths := ""
	for o := range objects {
		paths += o.Path + " "
	}
	if paths != "/ /y /x " {
		t.Errorf("listed are %s", paths)
	}
	if s, err := shown.Find("/y"); err != nil || s.Name != "y" {
		t.Errorf("%v, %v", s.Name, err)
	}
}

// TestManyVariables that refer to dimensions by number take no quadratic time.
func TestManyVariables(t *testing.T) {
	const n = 2000
	file := written(t, "many", func(w *hdf5write.Writer) error {
		for i := range n {
			path := "/v" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + strings.Repeat("y", i/50)
			if err := w.Write(path, storage.From([]int32{1}, 1)); err != nil {
				return err
			}
			if err := w.SetAttr(path, "_Netcdf4Coordinates", []int32{int32(i)}); err != nil {
				return err
			}
		}
		return nil
	})
	list, err := serialize.Collect(serializetest.Open(t, file))
	if err != nil || len(list) != n {
		t.Errorf("%d variables, %v", len(list), err)
	}
}
