package hdf5stream_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5stream"
)

// Example writes a file of one dataset with an attribute, and opens it.
func Example() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "a.h5")
	plan := hdf5stream.New()
	group, _ := plan.Root().Group("model")
	d, err := group.Dataset("weight", storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3))
	if err != nil {
		panic(err)
	}
	d.SetAttr("unit", "m/s")
	out, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	if err := plan.Write(out); err != nil {
		panic(err)
	}
	out.Close()

	f, err := hdf5.Open(name)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	read, err := f.Dataset("/model/weight")
	if err != nil {
		panic(err)
	}
	fmt.Println(read.DType, read.Shape, d.Address%64)
	// Output: float32 [2 3] 0
}

// write writes a plan and returns the name of the file.
func write(t *testing.T, plan *hdf5stream.File) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.h5")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := plan.Write(out); err != nil {
		t.Fatal(err)
	}
	return name
}

// numbers returns the numbers from 0 to 5 as elements of a type.
func numbers(t *testing.T, typ dtype.Type) storage.Array {
	a, err := storage.Make(storage.CPU, typ, 2, 3)
	if err == nil {
		err = storage.From([]float64{0, 1, 2, 3, 4, 5}, 2, 3).CopyTo(a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sample is a plan with every type, attributes of every kind, and groups of every size of
// B-tree.
func sample(t *testing.T) *hdf5stream.File {
	t.Helper()
	plan := hdf5stream.New()
	must := func(d *hdf5stream.Dataset, err error) *hdf5stream.Dataset {
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	types, _ := plan.Root().Group("types")
	for _, typ := range dtype.All() {
		if typ != dtype.Float8E4M3 {
			must(types.Dataset(typ.String(), numbers(t, typ)))
		}
	}
	d := must(plan.Root().Dataset("scalar", storage.From([]float64{2.5})))
	d.SetAttr("unit", "größe")
	d.SetAttr("empty", "")
	d.SetAttr("long", strings.Repeat("x", 100_000))
	d.SetAttr("list", []string{"a", "", "ä"})
	d.SetAttr("numbers", storage.From([]float32{1, 2}, 2))
	d.SetAttr("other", d)
	must(plan.Root().Dataset("empty", storage.From([]float32{}, 0, 3)))
	must(plan.Root().Null("null", dtype.Float32))
	if err := plan.Root().Link("same", d); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 8, 9, 256, 257, 300, 8193} {
		g, err := plan.Root().Group(fmt.Sprint("g", n))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			must(g.Dataset(fmt.Sprint("größe.", i, ".weight"), storage.From([]int32{int32(i)}, 1)))
		}
	}
	plan.Root().SetAttr("note", "the root")
	return plan
}

// TestFilesAreReadBack by this project's reader.
func TestFilesAreReadBack(t *testing.T) {
	f, err := hdf5.Open(write(t, sample(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	counts := map[string]int{}
	for o, err := range f.Walk() {
		if err != nil {
			t.Error(err)
		}
		if o.Kind == hdf5.KindDataset {
			counts[filepath.Dir(o.Path)]++
		}
	}
	if got, want := fmt.Sprint(counts), "map[/:4 /g1:1 /g256:256 /g257:257 /g300:300 /g8:8 /g8193:8193 /g9:9 /types:16]"; got != want {
		t.Errorf("datasets %s, want %s", got, want)
	}
	for _, typ := range dtype.All() {
		if typ == dtype.Float8E4M3 {
			continue
		}
		d, err := f.Dataset("/types/" + typ.String())
		if err != nil {
			t.Error(err)
			continue
		}
		a, err := d.Array()
		if err != nil || a.Type != typ {
			t.Errorf("%v: %v, %v", typ, a, err)
			continue
		}
		got, err1 := storage.Read[complex128](a)
		want, err2 := storage.Read[complex128](numbers(t, typ))
		if err := errors.Join(err1, err2); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: %v, %v; want %v", typ, got, err, want)
		}
	}
}

// TestH5pyReadsTheFile: values, attributes, links and all members of large groups.
func TestH5pyReadsTheFile(t *testing.T) {
	got := pythontest.Run(t, []string{"h5py", "numpy"}, `
import sys, h5py, numpy as np
f = h5py.File(sys.argv[1])
s = f["scalar"]
print(s[()], s.attrs["unit"], repr(s.attrs["empty"]), len(s.attrs["long"]), list(s.attrs["list"]), s.attrs["numbers"], f[s.attrs["other"]] == s, f["same"] == s)
print(f.attrs["note"], f["empty"].shape, f["null"].shape)
for n in 0, 1, 8, 9, 256, 257, 300, 8193:
    g = f["g%d" % n]
    assert len(g) == n and sorted(g) == sorted("größe.%d.weight" % i for i in range(n))
    assert [int(g["größe.%d.weight" % i][0]) for i in range(n)] == list(range(n))
for name, d in f["types"].items():
    x = d[()]
    want = np.arange(6).reshape(2, 3)
    if name == "bool":
        want = want != 0
    assert x.shape == (2, 3) and np.array_equal(x.astype(want.dtype if name == "bool" else complex), want), (name, x)
    if name not in ("bfloat16", "float8_e5m2"):
        assert str(x.dtype) == name, (name, x.dtype)
print("ok")
f.close()
with h5py.File(sys.argv[1], "r+") as g: # the file can be changed
    g["g8/more"] = [1.0]
    g["types/more"] = [2.0]
    g.attrs["note"] = "changed"
with h5py.File(sys.argv[1]) as g:
    print(g["g8/more"][0], len(g["g8"]), g.attrs["note"])
`, write(t, sample(t)))
	want := "2.5 größe '' 100000 ['a', '', 'ä'] [1. 2.] True True\nthe root (0, 3) None\nok\n1.0 9 changed\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestWhatHDF5CannotHoldIsRefused before anything is written.
func TestWhatHDF5CannotHoldIsRefused(t *testing.T) {
	plan := hdf5stream.New()
	root := plan.Root()
	one := storage.From([]float32{1}, 1)
	for _, name := range []string{"", ".", "a/b", "a\x00"} {
		if _, err := root.Dataset(name, one); !errors.Is(err, storage.ErrState) {
			t.Errorf("a dataset called %q: %v", name, err)
		}
	}
	if _, err := root.Dataset("w", numbers(t, dtype.Float8E4M3)); !errors.Is(err, dtype.ErrType) {
		t.Errorf("float8_e4m3fn: %v", err)
	}
	d, err := root.Dataset("w", one)
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Link("w", d); !errors.Is(err, storage.ErrState) {
		t.Errorf("a name twice: %v", err)
	}
	d.SetAttr("large", storage.From(make([]float64, 10_000), 10_000))
	if err := plan.Plan(); !errors.Is(err, storage.ErrState) {
		t.Errorf("an attribute of 80,000 bytes: %v", err)
	}
}

// TestLargeDatasetsBeginAtPages, and small ones are packed.
func TestLargeDatasetsBeginAtPages(t *testing.T) {
	plan := hdf5stream.New()
	small, _ := plan.Root().Dataset("a", storage.From([]float32{1}, 1))
	big, _ := plan.Root().Dataset("b", storage.From(make([]float32, 1<<14), 1<<14))
	last, err := plan.Root().Dataset("c", storage.From([]float32{1}, 1))
	if err != nil {
		t.Fatal(err)
	}
	write(t, plan)
	if small.Address%64 != 0 || big.Address%4096 != 0 || last.Address != big.Address+1<<16 {
		t.Errorf("datasets at %d, %d, %d", small.Address, big.Address, last.Address)
	}
}
