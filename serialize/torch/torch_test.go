package torch_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
	"github.com/h5dnn/h5dnn/storage"
)

func TestFormat(t *testing.T) {
	serializetest.TestFormat(t, "torch", "optimizer/state/0/exp_avg", "optimizer/state/1/exp_avg", "0", "0.weight", "a//b", "", "x/")
}

// Example opens a checkpoint with an optimizer's state.
func Example() {
	f, err := serialize.Open("testdata/checkpoint.pt")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for e, err := range f.All() {
		if strings.HasPrefix(e.Name, "0.") || strings.HasPrefix(e.Name, "optimizer_state_dict/state/0/") {
			fmt.Println(e.Name, e.Array.Type, e.Array.Shape, err)
		}
	}
	fmt.Println(f.Meta()["torch.unwrapped"], f.Meta()["epoch"], f.Meta()["optimizer_state_dict/param_groups/0/lr"])
	// Output:
	// 0.weight float32 [2 3] <nil>
	// 0.bias float32 [2] <nil>
	// optimizer_state_dict/state/0/step float32 [] <nil>
	// optimizer_state_dict/state/0/exp_avg float32 [2 3] <nil>
	// optimizer_state_dict/state/0/exp_avg_sq float32 [2 3] <nil>
	// model_state_dict 5 0.01
}

// A description of a tensor that PyTorch made, as testdata/make.py writes it.
type description struct {
	Name, Type, Bits string
	Shape, Stride    []int
	Storage          int
}

// TestFilesOfPyTorch compares the files that testdata/make.py wrote with what it wrote.
func TestFilesOfPyTorch(t *testing.T) {
	files := serializetest.Expected[map[string]struct {
		Meta    map[string]string
		Tensors []description
	}](t)
	for name, want := range files {
		t.Run(name, func(t *testing.T) {
			f := serializetest.Open(t, filepath.Join("testdata", name))
			for key, value := range want.Meta {
				if got, ok := f.Meta()[key]; !ok || got != value {
					t.Errorf("metadata %q is %q, want %q; all are %q", key, got, value, f.Meta())
				}
			}
			entries, err := serialize.Collect(f)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, entries, want.Tensors)
		})
	}
}

// compare reports how entries differ from what PyTorch says.
func compare(t *testing.T, entries []serialize.Entry, want []description) {
	t.Helper()
	var names []string
	for _, d := range want {
		names = append(names, d.Name)
	}
	shared := map[int]string{}
	for i, e := range entries {
		if i >= len(want) {
			t.Fatalf("%d entries, the last %q; want %q", len(entries), e.Name, names)
		}
		d := want[i]
		if e.Name != d.Name || e.Array.Type.String() != d.Type || !slices.Equal(e.Array.Shape, d.Shape) {
			t.Errorf("entry %d: %q %v%v, want %q %s%v", i, e.Name, e.Array.Type, e.Array.Shape, d.Name, d.Type, d.Shape)
			continue
		}
		if got := elements(t, e.Array); hex.EncodeToString(got) != d.Bits {
			t.Errorf("%q: %x, want %s", e.Name, got, d.Bits)
		}
		if e.Array.Len() > 1 && e.Shared != "" && !slices.Equal(e.Array.Stride, d.Stride) {
			t.Errorf("%q: strides %v, want %v", e.Name, e.Array.Stride, d.Stride)
		}
		if before, ok := shared[d.Storage]; ok && e.Array.Len() > 0 && before != e.Shared {
			t.Errorf("%q: shared %q, others of its storage %q", e.Name, e.Shared, before)
		}
		if shared[d.Storage] = e.Shared; e.Array.Len() == 0 || e.Shared == "" {
			delete(shared, d.Storage)
		}
	}
	if len(entries) < len(want) {
		t.Errorf("%d entries, want %q", len(entries), names)
	}
}

func elements(t *testing.T, a storage.Array) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := a.WriteTo(&b); err != nil {
		t.Error(err)
	}
	return b.Bytes()
}

// TestProgramsAreRefusedByName: they are zip archives of PyTorch, too.
func TestProgramsAreRefusedByName(t *testing.T) {
	for name, want := range map[string]string{"script.pt": "TorchScript", "package.pt": "torch.package.PackageImporter(NAME).load_pickle", "export.pt2": "torch.export.load(NAME).state_dict"} {
		if f, err := serialize.Open(filepath.Join("testdata", name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

// TestEqualNamesAreSaid: arrays of one name get others, and say which they have in the file.
// A set can be a key.
func TestEqualNamesAreSaid(t *testing.T) {
	f := serializetest.Open(t, "testdata/collisions.pt")
	list, err := serialize.Collect(f)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, fmt.Sprint(e.Name, " ", e.Renamed, " ", e.Array.Len()))
	}
	if want := []string{"a/b  1", "a/b'2 a/b 2", "x/1  3", "x/1'2 x/1 4", "[1]  5"}; !slices.Equal(got, want) {
		t.Errorf("names %q; want %q", got, want)
	}
}

// TestPartsOfDistributedCheckpointsAreRefusedByName: they begin as files of torch.save do.
func TestPartsOfDistributedCheckpointsAreRefusedByName(t *testing.T) {
	b, err := os.ReadFile("testdata/state.pth")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "__0_0.distcp")
	if err := os.WriteFile(name, slices.Concat(b, b), 0o666); err != nil {
		t.Fatal(err)
	}
	if f, err := serialize.Open(name); err == nil || !strings.Contains(err.Error(), "dcp_to_torch") {
		t.Errorf("%v, %v", f, err)
	}
}

// TestTensorsBesideDictsStayThere: a file with both is not written as a model and what is
// beside it.
func TestTensorsBesideDictsStayThere(t *testing.T) {
	for name, wrapped := range map[string]bool{"nested.pt": false, "checkpoint.pt": true} {
		f := serializetest.Open(t, "testdata/"+name)
		var b bytes.Buffer
		if err := serialize.Write(&b, "torch", serialize.Contents{Entries: f.All(), Meta: f.Meta()}); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(b.Bytes(), []byte("model_state_dict")); got != wrapped {
			t.Errorf("%s: a model is set apart: %v; want %v", name, got, wrapped)
		}
		again, err := serialize.OpenReader(bytes.NewReader(b.Bytes()), int64(b.Len()), name)
		if err != nil {
			t.Fatal(err)
		}
		for e := range f.All() {
			if _, err := serialize.Lookup(again, e.Name); err != nil {
				t.Errorf("%s: %s: %v", name, e.Name, err)
			}
		}
	}
}

// TestTensorsThatAreNotRead are listed with their shapes, beside those that are.
func TestTensorsThatAreNotRead(t *testing.T) {
	for file, shapes := range map[string]map[string][]int{
		"odd.pt":  {"q": {2, 3}, "s": {2, 2}, "m": {4}, "c": {2}, "f": {2}},
		"odd2.pt": {"csr": {2, 3}, "text": {2}, "masked": {2}},
		"odd3.pt": {"bits": {4}, "e8m0": {3}},
		"odd4.pt": {"record": {1}},
	} {
		f := serializetest.Open(t, filepath.Join("testdata", file))
		for name, shape := range shapes {
			e, err := serialize.Lookup(f, name)
			if !errors.Is(err, dtype.ErrType) || e.Elements == nil || !slices.Equal(e.Elements.View.Shape, shape) {
				t.Errorf("%s: %v, %v; want shape %v", name, e.Elements, err, shape)
			}
		}
		if a, err := serialize.Find(f, "w"); err != nil || !slices.Equal(a.Shape, []int{2}) {
			t.Errorf("w: %v, %v", a, err)
		}
	}
}

// TestChecksumsAreCompared when a storage is read as a whole, and by Verify.
func TestChecksumsAreCompared(t *testing.T) {
	whole, err := os.ReadFile("testdata/state.pth")
	if err != nil {
		t.Fatal(err)
	}
	verify := func(b []byte) (bad []string) {
		f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "state.pth")
		if err != nil {
			t.Fatal(err)
		}
		for name, err := range f.(serialize.Verifier).Verify(t.Context()) {
			if err != nil {
				bad = append(bad, name)
			}
		}
		return bad
	}
	if bad := verify(whole); len(bad) > 0 {
		t.Errorf("in a good file: %q", bad)
	}
	damaged := bytes.Clone(whole)
	f := serializetest.Open(t, "testdata/state.pth")
	a, err := serialize.Find(f, "0.weight")
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(damaged, elements(t, a))
	damaged[at] ^= 1
	if bad := verify(damaged); !slices.Equal(bad, []string{"0.weight"}) {
		t.Errorf("damaged: %q; want 0.weight", bad)
	}
	g, err := serialize.OpenReader(bytes.NewReader(damaged), int64(len(damaged)), "state.pth")
	if err != nil {
		t.Fatal(err)
	}
	if a, err = serialize.Find(g, "0.weight"); err == nil {
		_, err = a.To(storage.CPU)
	}
	if !errors.Is(err, serialize.ErrChecksum) || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("reading a damaged tensor: %v", err)
	}
}

// TestLegacyFilesOfOtherMachines: PyTorch writes little-endian elements on big-endian machines
// too, and passes over what the file says of them.
func TestLegacyFilesOfOtherMachines(t *testing.T) {
	b, err := os.ReadFile("testdata/views_legacy.pt")
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("little_endian"))
	flag := bytes.IndexByte(b[max(at, 0):], 0x88) // True
	if at < 0 || flag < 0 || flag > 30 {
		t.Fatalf("little_endian at %d, True %d bytes behind", at, flag)
	}
	other := bytes.Clone(b)
	other[at+flag] = 0x89 // False
	values := func(b []byte) (all []string) {
		f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.pt", serialize.Options{Format: "torch"})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for e, err := range f.All() {
			var elements bytes.Buffer
			if err == nil {
				err = serialize.WriteLittleEndian(&elements, e.Array)
			}
			all = append(all, fmt.Sprintf("%s %x %v", e.Name, elements.Bytes(), err))
		}
		return all
	}
	if want, got := values(b), values(other); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestNegatedAndConjugated reads tensors that PyTorch saves as they are stored, with the marks
// that they are negated and conjugated.
func TestNegatedAndConjugated(t *testing.T) {
	f := serializetest.Open(t, "testdata/negated.pt")
	for name, want := range map[string][]complex64{"both": {-1 + 2i, -3i}, "negated": {-1 - 2i, 3i}} {
		a, err := serialize.Find(f, name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := storage.Read[complex64](a); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
}

// TestUnreadScalarsAreArrays with the name of their type: as texts they would be lost without a word.
func TestUnreadScalarsAreArrays(t *testing.T) {
	f := serializetest.Open(t, "testdata/unread_numpy.pt")
	for name, want := range map[string]string{"date": "NumPy dates arrays are not read", "long": "NumPy longdouble arrays are not read", "longs": "NumPy longdouble arrays are not read"} {
		if _, err := serialize.Lookup(f, name); !errors.Is(err, dtype.ErrType) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", name, err, want)
		}
	}
}
