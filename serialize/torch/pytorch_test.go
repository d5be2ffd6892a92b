package torch_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

const describe = `
import json, sys, torch, zipfile
def bits(t):
    return bytes(t.reshape(-1).clone().as_strided((t.numel(),), (1,)).view(torch.uint8).numpy()).hex() if t.numel() else ""
out = []
for options in [{"mmap": False}, {"mmap": True}]:
    value = torch.load(sys.argv[1], weights_only=True, **options)
    storages, list = {}, []
    for name, t in value.items():
        list.append({"name": name, "type": str(t.dtype).replace("torch.", ""), "shape": t.shape, "stride": t.stride(), "bits": bits(t),
                     "storage": storages.setdefault(t.untyped_storage().data_ptr(), len(storages))})
    out.append(list)
assert zipfile.ZipFile(sys.argv[1]).testzip() is None
print(json.dumps(out))
`

// TestPyTorchLoadsWhatIsSaved compares every type, and strided and shared arrays.
func TestPyTorchLoadsWhatIsSaved(t *testing.T) {
	var list []serialize.Entry
	for _, typ := range dtype.All() {
		for i, shape := range [][]int{{2, 3}, {}, {0, 2}} {
			a, err := storage.Make(storage.CPU, typ, shape...)
			if err != nil {
				t.Fatal(err)
			}
			values := []float32{0, 1, 2, 3, 4, 5}[:a.Len()]
			if err := storage.From(values, shape...).CopyTo(a); err != nil {
				t.Fatal(err)
			}
			list = append(list, serialize.Entry{Name: fmt.Sprintf("%v.%d", typ, i), Array: a})
		}
	}
	values := make([]float32, 24)
	for i := range values {
		values[i] = float32(i)
	}
	whole := storage.From(values, 2, 3, 4)
	view := func(name string, v views.View, err error) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, serialize.Entry{Name: name, Array: whole.With(v), Shared: "x"})
	}
	view("größe", whole.View, nil)
	v, err := whole.Transpose(2, 0, 1)
	view("transposed", v, err)
	v, err = whole.Slice(1, 1, 3, 1)
	view("slice", v, err)
	v, err = whole.Flip(0)
	list = append(list, serialize.Entry{Name: "flipped", Array: whole.With(v)})
	if err != nil {
		t.Fatal(err)
	}

	name := filepath.Join(t.TempDir(), "model.pt")
	if err := serialize.Save(name, "", serialize.Contents{Entries: serialize.Entries(list...), Meta: map[string]string{"epoch": "3"}}); err != nil {
		t.Fatal(err)
	}
	var loads [][]description
	if err := json.Unmarshal([]byte(pythontest.Run(t, []string{"torch"}, describe, name)), &loads); err != nil {
		t.Fatal(err)
	}
	for _, got := range loads {
		if len(got) != len(list) {
			t.Fatalf("PyTorch finds %d tensors of %d", len(got), len(list))
		}
		shared := map[int]bool{}
		for i, e := range list {
			d := got[i]
			if d.Name != e.Name || d.Type != e.Array.Type.String() || !slices.Equal(d.Shape, e.Array.Shape) || d.Bits != hex.EncodeToString(elements(t, e.Array)) {
				t.Errorf("%q: PyTorch has %+v, want %v", e.Name, d, e.Array)
			}
			if e.Shared == "x" {
				shared[d.Storage] = true
				if !slices.Equal(d.Stride, e.Array.Stride) {
					t.Errorf("%q: strides %v, want %v", e.Name, d.Stride, e.Array.Stride)
				}
			}
		}
		if len(shared) != 1 {
			t.Errorf("views of one storage are in storages %v", shared)
		}
	}
}

const resume = `
import sys, torch
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
a, b = [torch.load(f, weights_only=True) for f in sys.argv[1:]]
model.load_state_dict(b["model_state_dict"])
optimizer.load_state_dict(b["optimizer_state_dict"])
assert b["epoch"] == 5 and b["loss"] == 0.25 and optimizer.param_groups[0]["lr"] == 0.01, b
assert list(a["model_state_dict"]) == list(b["model_state_dict"])
for key, value in a["optimizer_state_dict"]["param_groups"][0].items():
    other = b["optimizer_state_dict"]["param_groups"][0][key]
    assert type(other) == type(value) and other == value, (key, value, other)
for i, slots in a["optimizer_state_dict"]["state"].items():
    for key, value in slots.items():
        assert torch.equal(value, b["optimizer_state_dict"]["state"][i][key]), (i, key)
model(torch.ones(4, 3)).sum().backward()
optimizer.step()
print("resumed")
`

// TestPyTorchResumesWhatIsSavedAgain copies a checkpoint with an optimizer's state.
func TestPyTorchResumesWhatIsSavedAgain(t *testing.T) {
	const checkpoint = "testdata/checkpoint.pt"
	f, err := serialize.Open(checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name := filepath.Join(t.TempDir(), "copy.pt")
	if err := serialize.Save(name, "", serialize.Contents{Entries: f.All(), Meta: f.Meta()}); err != nil {
		t.Fatal(err)
	}
	again, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if a, b := f.Meta(), again.Meta(); fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("metadata %q, want %q", b, a)
	}
	if got := pythontest.Run(t, []string{"torch"}, resume, checkpoint, name); got != "resumed\n" {
		t.Errorf("PyTorch prints %q", got)
	}
}

// TestSharedStoragesAreKept: a file of tied and transposed weights does not get larger.
func TestSharedStoragesAreKept(t *testing.T) {
	for _, file := range []string{"views.pt", "tied.pt", "views_legacy.pt"} {
		f, err := serialize.Open(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "copy.pt")
		if err := serialize.Save(name, "", serialize.Contents{Entries: f.All()}); err != nil {
			t.Fatal(err)
		}
		again, err := serialize.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for e := range f.All() {
			other, err := serialize.Lookup(again, e.Name)
			if err != nil || !slices.Equal(elements(t, e.Array), elements(t, other.Array)) {
				t.Errorf("%s: %q: %v", file, e.Name, err)
			}
		}
		whole, _ := serialize.Lookup(again, "whole")
		part, _ := serialize.Lookup(again, "transposed")
		if whole.Shared != part.Shared {
			t.Errorf("%s: whole in storage %q, transposed in %q", file, whole.Shared, part.Shared)
		}
		f.Close()
		again.Close()
		if info, err := os.Stat(name); err != nil || info.Size() > 6000 {
			t.Errorf("%s: the copy has %v bytes, %v", file, info.Size(), err)
		}
	}
}

// TestPlacesOfTensorsAreKept: a copy has tensors beside the model, and names with slashes, where
// the original has them.
func TestPlacesOfTensorsAreKept(t *testing.T) {
	for file, want := range map[string]string{
		"outside.pt": "['epoch', 'loss', 'model', 'rng'] ['a', 'b/c']\n",
		"names.pt":   "['', '/a', 'a', 'a/', 'b', 'b/c'] []\n",
	} {
		f, err := serialize.Open(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		name := filepath.Join(t.TempDir(), "copy.pt")
		if err := serialize.Save(name, "", serialize.Contents{Entries: f.All(), Meta: f.Meta()}); err != nil {
			t.Fatal(err)
		}
		again, err := serialize.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		for e := range f.All() {
			if other, err := serialize.Lookup(again, e.Name); err != nil || !slices.Equal(elements(t, e.Array), elements(t, other.Array)) {
				t.Errorf("%s: %q: %v", file, e.Name, err)
			}
		}
		got := pythontest.Run(t, []string{"torch"}, `
import sys, torch
value = torch.load(sys.argv[1], weights_only=True)
print(sorted(value), sorted(value.get("model", [])))
`, name)
		if got != want {
			t.Errorf("%s: PyTorch has %q, want %q", file, got, want)
		}
	}
}
