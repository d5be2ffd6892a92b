package matlab_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// TestCellsOfOneText: 512 references to a text of 1 MiB take its memory once.
func TestCellsOfOneText(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cell.mat")
	pythontest.Run(t, []string{"h5py", "numpy"}, `
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w", userblock_size=512) as f:
    text = f.create_dataset("#refs#/a", data=np.full((1 << 20, 1), ord("x"), np.uint16))
    text.attrs["MATLAB_class"] = np.bytes_("char")
    cell = f.create_dataset("cell", (1, 512), h5py.ref_dtype)
    cell[:] = [[text.ref] * 512]
    cell.attrs["MATLAB_class"] = np.bytes_("cell")
with open(sys.argv[1], "r+b") as f: f.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM")
`, name)
	f := serializetest.Open(t, name)
	e, err := serialize.Lookup(f, "cell")
	if err != nil || e.Elements == nil {
		t.Fatalf("%v, %v", e, err)
	}
	before := serializetest.Allocated()
	values, err := e.Elements.Values(e.Elements.View)
	if err != nil || len(values) != 512 || len(values[511].(string)) != 1<<20 {
		t.Errorf("%d values, %v", len(values), err)
	}
	if used := serializetest.Allocated() - before; used > 100<<20 {
		t.Errorf("reading them took %d bytes of memory", used)
	}
}

// TestReferencesInCircles: testdata/make_cells.py writes cells that refer to themselves, to
// the group that they are in, to nothing, 500 times to a struct of 100 fields, and twice each to
// the one below, 20 levels deep.
func TestReferencesInCircles(t *testing.T) {
	serializetest.TestAttacks(t, "matlab", "testdata/members", map[string]string{
		"circle": "refers to /#refs#/a, which has it as a member", "nothing": "refers to nothing", "doubled": "refers to nothing",
		"root": "refers to /, which has it as a member", "crowd": "more references than",
	})
	for name, most := range map[string]int{"doubled": 2000, "root": 2, "crowd": 5000} {
		n := 0
		var last error
		for _, err := range serializetest.Open(t, "testdata/members/"+name+".mat").All() {
			n, last = n+1, err
		}
		if n > most || last == nil || name != "root" && !strings.Contains(last.Error(), "more references than a file of") {
			t.Errorf("%s: %d entries, the last with %v", name, n, last)
		}
	}
}

// TestAttacks: each file has one variable that lies, and is refused with its reason.
func TestAttacks(t *testing.T) {
	type writer = *hdf5write.Writer
	variable := func(class, attribute string, value any, elements storage.Array) func(writer) error {
		return func(w writer) error {
			return errors.Join(w.Write("/x", elements), w.SetAttr("/x", "MATLAB_class", class), w.SetAttr("/x", attribute, value))
		}
	}
	matrix := func(rows any, indices, offsets []int64) func(writer) error {
		return func(w writer) error {
			return errors.Join(
				w.Group("/x", hdf5write.Attr{Name: "MATLAB_class", Value: "double"}, hdf5write.Attr{Name: "MATLAB_sparse", Value: rows}),
				w.Write("/x/data", storage.From(make([]float64, 2), 2)), w.Write("/x/ir", storage.From(indices, len(indices))), w.Write("/x/jc", storage.From(offsets, len(offsets))))
		}
	}
	two := []int64{0, 1}
	sizes := func(n ...int64) storage.Array { return storage.From(n, len(n)) }
	for name, attack := range map[string]struct {
		reason string
		fill   func(writer) error
	}{
		"negative_rows":     {"want a count", matrix(int64(-1), two, []int64{0, 1, 2})},
		"rows_twice":        {"want a count", matrix(sizes(2, 2), two, []int64{0, 1, 2})},
		"rows_not_said":     {"want a count", matrix(sizes(), two, []int64{0, 1, 2})},
		"huge_matrix":       {"overflows", matrix(int64(1<<62), two, []int64{0, 1, 2})},
		"offsets_descend":   {"want them to ascend", matrix(int64(2), two, []int64{0, 2, 1})},
		"offsets_outside":   {"want them to ascend", matrix(int64(2), two, []int64{0, 1, 1 << 62})},
		"row_outside":       {"index 2 of a stored element, of 2", matrix(int64(2), []int64{0, 2}, []int64{0, 1, 2})},
		"negative_row":      {"index -1 of a stored element", matrix(int64(2), []int64{0, -1}, []int64{0, 1, 2})},
		"few_rows":          {"want as many integers as values", matrix(int64(2), []int64{0}, []int64{0, 1, 2})},
		"empty_of_elements": {"has elements", variable("double", "MATLAB_empty", uint8(1), sizes(2, 3))},
		"empty_of_minus_1":  {"negative size", variable("double", "MATLAB_empty", uint8(1), sizes(0, -1))},
		"empty_overflows":   {"overflows", variable("double", "MATLAB_empty", uint8(1), sizes(1<<62, 1<<62, 0))},
		"empty_of_floats":   {"want a few integers", variable("double", "MATLAB_empty", uint8(1), storage.From([]float64{0, 0}, 2))},
		"empty_of_40_axes":  {"want a few integers", variable("double", "MATLAB_empty", uint8(1), sizes(make([]int64, 40)...))},
		"object":            {"variables of class table cannot be read", variable("table", "MATLAB_object_decode", int32(3), storage.From([]uint32{0xdd000000, 2, 1, 1, 1, 1}, 6, 1))},
	} {
		file := filepath.Join(t.TempDir(), name+".mat")
		w, err := hdf5write.Create(file, hdf5write.CreateOptions{NoSync: true, UserBlock: 512})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(attack.fill(w), w.Close()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		serializetest.TestAttack(t, "matlab", file, attack.reason)
	}
}
