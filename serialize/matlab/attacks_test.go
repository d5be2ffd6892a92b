package matlab_test

import (
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
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
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
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
