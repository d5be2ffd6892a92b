package h5ck_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/h5ck"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5test"
)

func TestFormat(t *testing.T) {
	serializetest.TestFormat(t, "h5ck", "", ".", "..", "a/b", "a%2Fb", "optim/exp_avg/a.weight", "rng/dropout", "optim/x", "optim", "/", "100 %")
}

// Example saves tied weights and reads them as HDF5.
func Example() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "model.ckpt.h5")
	if err := serialize.Save(name, "", serialize.Contents{Entries: model}); err != nil {
		fmt.Println(err)
		return
	}
	for _, format := range []string{"", "hdf5"} {
		f, err := serialize.Open(name, serialize.Options{Format: format})
		if err != nil {
			fmt.Println(err)
			return
		}
		for e, err := range f.All() {
			fmt.Println(e.Name, e.Array.Type, e.Array.Shape, err)
		}
		f.Close()
	}
	// Output:
	// embedding float32 [2 3] <nil>
	// head float32 [2 3] <nil>
	// turned float32 [3 2] <nil>
	// optim/exp_avg/embedding float32 [2 3] <nil>
	// __index__ uint8 [404] <nil>
	// model/embedding float32 [2 3] <nil>
	// model/head float32 [2 3] <nil>
	// model/turned float32 [3 2] <nil>
	// optim/exp_avg/embedding float32 [2 3] <nil>
}

// model has tied weights, a transposed view of them, and a buffer of an optimizer.
func model(yield func(serialize.Entry, error) bool) {
	a := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	turned, _ := a.Transpose()
	b := storage.From([]float32{7, 8, 9, 10, 11, 12}, 2, 3)
	_ = yield(serialize.Entry{Name: "embedding", Array: a, Shared: "tied"}, nil) &&
		yield(serialize.Entry{Name: "head", Array: a, Shared: "tied"}, nil) &&
		yield(serialize.Entry{Name: "turned", Array: a.With(turned), Shared: "tied"}, nil) &&
		yield(serialize.Entry{Name: "optim/exp_avg/embedding", Array: b}, nil)
}

// save writes entries and returns the name of the file.
func save(t *testing.T, entries func(func(serialize.Entry, error) bool), o h5ck.Options) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.ckpt.h5")
	if err := h5ck.Save(name, serialize.Contents{Entries: entries, Meta: map[string]string{"epoch": "3"}}, o); err != nil {
		t.Fatal(err)
	}
	return name
}

// describe lists what a file holds, with the strides and storages of arrays.
func describe(t *testing.T, f serialize.File) string {
	t.Helper()
	storages := map[string]int{}
	var lines []string
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := storages[e.Shared]; !ok {
			storages[e.Shared] = len(storages)
		}
		elems, err := storage.Read[float64](e.Array)
		lines = append(lines, fmt.Sprintf("%s %v%v%v %v %v", e.Name, e.Array.Type, e.Array.Shape, e.Array.Stride, elems, err))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestExactFilesKeepViews, by the index and as HDF5.
func TestExactFilesKeepViews(t *testing.T) {
	name := save(t, model, h5ck.Options{Exact: true})
	want := `embedding float32[2 3][3 1] [1 2 3 4 5 6] <nil>
head float32[2 3][3 1] [1 2 3 4 5 6] <nil>
optim/exp_avg/embedding float32[2 3][3 1] [7 8 9 10 11 12] <nil>
turned float32[3 2][1 3] [1 4 2 5 3 6] <nil>`
	for _, how := range []string{"index", "HDF5"} {
		if how == "HDF5" {
			damageIndex(t, name)
		}
		f, err := serialize.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(t, f); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", how, got, want)
		}
		byShared := map[string]int{}
		for e := range f.All() {
			byShared[e.Shared]++
		}
		if len(byShared) != 2 {
			t.Errorf("%s: %d storages, want 2", how, len(byShared))
		}
		if !maps.Equal(f.Meta(), map[string]string{"epoch": "3"}) {
			t.Errorf("%s: metadata %v", how, f.Meta())
		}
		f.Close()
	}
}

// damageIndex changes a byte of the index.
func damageIndex(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte(`{"metadata"`))
	b[at+2] = 'M'
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestIndexAndHDF5Agree: a file is the same with its index and without.
func TestIndexAndHDF5Agree(t *testing.T) {
	var list []serialize.Entry
	for i, typ := range dtype.All() {
		a, err := storage.Make(storage.CPU, typ, 2, 3)
		if err == nil {
			err = storage.From([]float64{0, 1, 0, 1, 1, 0}, 2, 3).CopyTo(a)
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, serialize.Entry{Name: fmt.Sprint("layer.", i, "/", typ), Array: a, Attrs: map[string]any{"role": "param", "n": storage.From([]int64{int64(i)})}})
	}
	list = append(list, serialize.Entry{Name: "empty", Array: storage.From([]float32{}, 0, 3)}, serialize.Entry{Name: "scalar", Array: storage.From([]float64{2.5})})
	name := save(t, serialize.Entries(list...), h5ck.Options{})
	indexed := serializetest.Open(t, name)
	for what, err := range indexed.(serialize.Verifier).Verify(context.Background()) {
		if err != nil {
			t.Errorf("verify %s: %v", what, err)
		}
	}
	copied := filepath.Join(t.TempDir(), "b.ckpt.h5")
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(copied, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	damageIndex(t, copied)
	walked := serializetest.Open(t, copied)
	for e, err := range indexed.All() {
		other, err2 := serialize.Lookup(walked, e.Name)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		var x, y bytes.Buffer
		_, err1 := e.Array.WriteTo(&x)
		_, err2 = other.Array.WriteTo(&y)
		if err := errors.Join(err1, err2); err != nil || e.Array.Type != other.Array.Type || !bytes.Equal(x.Bytes(), y.Bytes()) || !serialize.SameAttrs(e.Attrs, other.Attrs) {
			t.Errorf("%s: %v and %v, %v", e.Name, e.Array, other.Array, err)
		}
	}
	found := false
	for what, err := range walked.(serialize.Verifier).Verify(context.Background()) {
		if what == "" {
			found = err != nil
		} else if err != nil {
			t.Errorf("verify %s: %v", what, err)
		}
	}
	if !found {
		t.Error("verify does not report that the index is damaged")
	}
}

// TestDamagedElementsAreFound when they are read as a whole, and by verify.
func TestDamagedElementsAreFound(t *testing.T) {
	name := save(t, model, h5ck.Options{})
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40}) // 1, 2, 3
	if at%64 != 0 {
		t.Errorf("elements at %d", at)
	}
	b[at] = 1
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"index", "HDF5"} {
		if how == "HDF5" {
			damageIndex(t, name)
		}
		f, err := serialize.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		e, err := serialize.Lookup(f, "embedding")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Array.To(storage.CPU); !errors.Is(err, serialize.ErrChecksum) {
			t.Errorf("%s: read: %v", how, err)
		}
		var wrong []string
		for what, err := range f.(serialize.Verifier).Verify(context.Background()) {
			if errors.Is(err, serialize.ErrChecksum) {
				wrong = append(wrong, what)
			}
		}
		if got := strings.Join(wrong, " "); got != "embedding head" {
			t.Errorf("%s: verify finds %q", how, got)
		}
		f.Close()
	}
}

// TestH5pyReadsAndChangesTheFile: the arrays, hard links and alignment of both modes. After
// h5py added an array, the index does not fit, and the file is read as HDF5.
func TestH5pyReadsAndChangesTheFile(t *testing.T) {
	name, exact := save(t, model, h5ck.Options{}), save(t, model, h5ck.Options{Exact: true})
	out := pythontest.Run(t, []string{"h5py", "numpy"}, `
import sys, h5py, json, numpy as np
for name in sys.argv[1:]:
    with h5py.File(name) as f:
        m = f["model"]
        print(m["embedding"][()].tolist(), m["head"] == m["embedding"], m["turned"][()].tolist() if m["turned"].shape else "view of %s" % f[m["turned"].attrs["h5ck:storage"]].name)
        print(f["optim/exp_avg/embedding"][0].tolist(), f.attrs["epoch"], f.attrs["h5ck:version"], m["embedding"].id.get_offset() % 64)
        index = json.loads(f["__index__"][()].tobytes())
        s = index["storages"][index["tensors"]["embedding"]["storage"]]
        print(np.memmap(name, "<f4", "r", s["offset"], (2, 3)).tolist())
with h5py.File(sys.argv[1], "r+") as f:
    f["model/new"] = np.arange(3.0)
`, name, exact)
	want := "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] True [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]\n[7.0, 8.0, 9.0] 3 1 0\n[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]\n"
	want += strings.Replace(want, "[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]", "view of /model/embedding", 1)
	if out != want {
		t.Errorf("Python reads\n%s, want\n%s", out, want)
	}
	f := serializetest.Open(t, name)
	if got := describe(t, f); !strings.Contains(got, "new float64[3][1] [0 1 2] <nil>") || !strings.Contains(got, "head float32[2 3]") {
		t.Errorf("after a change:\n%s", got)
	}
}

// TestReservedNamesAreRefused.
func TestReservedNamesAreRefused(t *testing.T) {
	w := storage.From([]float32{1})
	for what, c := range map[string]serialize.Contents{
		"attribute": {Entries: func(yield func(serialize.Entry, error) bool) {
			yield(serialize.Entry{Name: "w", Array: w, Attrs: map[string]any{"h5ck:crc32c": "x"}}, nil)
		}},
		"metadata": {Entries: serialize.Arrays(maps.All(map[string]storage.Array{"w": w})), Meta: map[string]string{"h5ck:index": "x"}},
		"an array where a group is": {Entries: serialize.Arrays(func(yield func(string, storage.Array) bool) {
			_ = yield("optim/a/b", w) && yield("rng/x", w) && yield("rng/x", w)
		})},
	} {
		if err := h5ck.Save(filepath.Join(t.TempDir(), "a.ckpt.h5"), c, h5ck.Options{}); !errors.Is(err, storage.ErrState) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzOpen reads whatever bytes are a file of.
func FuzzOpen(f *testing.F) {
	for _, o := range []h5ck.Options{{}, {Exact: true}} {
		name := filepath.Join(f.TempDir(), "a.ckpt.h5")
		if err := h5ck.Save(name, serialize.Contents{Entries: model}, o); err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	hdf5test.WithoutChecksums(f)
	f.Fuzz(serializetest.FuzzTarget("h5ck"))
}
