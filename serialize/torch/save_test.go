package torch

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// nestings are names of arrays, and the keys of the dicts that they make, as Python prints them.
var nestings = []struct{ names, dicts string }{
	{"a b/c", "{a, b: {c}}"},
	{"a.weight a.bias", "{a.weight, a.bias}"},
	{"a/b/c a/d e", "{a: {b: {c}, d}, e}"},
	{"a/b c/d", "{a: {b}, c: {d}}"},
	{"w optimizer/momentum/w", "{model_state_dict: {w}, optimizer: {momentum: {w}}}"},
	{"0.w 0.b optimizer_state_dict/state/0/exp_avg", "{model_state_dict: {0.w, 0.b}, optimizer_state_dict: {state: {0: {exp_avg}}}}"},
	{"w other/x optimizer/momentum/w", "{w, other: {x}, optimizer: {momentum: {w}}}"},
	{"model_state_dict/x w optim/y", "{model_state_dict: {x}, w, optim: {y}}"},
	{"a a/b", "{a, a/b}"},
	{"/a", "{/a}"},
}

// contentsOf returns an array for each of several names.
func contentsOf(names string) serialize.Contents {
	return serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		for k, name := range strings.Fields(names) {
			if !yield(serialize.Entry{Name: name, Array: storage.From([]int32{int32(k)}, 1)}, nil) {
				return
			}
		}
	}}
}

// keysOf returns the keys of nested dicts.
func keysOf(d *pickle.Dict) string {
	var keys []string
	for i, key := range d.Keys {
		text := fmt.Sprint(key)
		if inner, ok := d.Values[i].(*pickle.Dict); ok {
			text += ": " + keysOf(inner)
		}
		keys = append(keys, text)
	}
	return "{" + strings.Join(keys, ", ") + "}"
}

// TestNamesMakeDicts holds for the dicts that names make, and that reading these has the names.
func TestNamesMakeDicts(t *testing.T) {
	for _, c := range nestings {
		entries, err := format.Collect(contentsOf(c.names))
		if err != nil {
			t.Fatal(err)
		}
		root, err := tree(entries, serialize.NewPlan(entries), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := keysOf(root.(*pickle.Dict)); got != c.dicts {
			t.Errorf("%s: %s; want %s", c.names, got, c.dicts)
		}
		var b bytes.Buffer
		if err := serialize.Write(&b, "torch", contentsOf(c.names)); err != nil {
			t.Fatal(err)
		}
		f, err := serialize.OpenReader(bytes.NewReader(b.Bytes()), int64(b.Len()), "names.pt")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for e, err := range f.All() {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, e.Name)
		}
		want := strings.Fields(c.names)
		slices.Sort(names)
		if slices.Sort(want); !slices.Equal(names, want) {
			t.Errorf("%q is read as %q", want, names)
		}
	}
}

// TestTorchLoadsTheseDicts compares the dicts with those that torch.load returns.
func TestTorchLoadsTheseDicts(t *testing.T) {
	script := `
import sys, torch
def keys(d):
    return "{" + ", ".join(str(k) + (": " + keys(v) if isinstance(v, dict) else "") for k, v in d.items()) + "}"
for name in sys.argv[1:]:
    print(keys(torch.load(name, weights_only=True)))
`
	var files []string
	for k, c := range nestings {
		name := filepath.Join(t.TempDir(), fmt.Sprint(k, ".pt"))
		if err := serialize.Save(name, "torch", contentsOf(c.names)); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	out := strings.Split(strings.TrimSpace(pythontest.Run(t, []string{"torch"}, script, files...)), "\n")
	for k, c := range nestings {
		if out[k] != c.dicts {
			t.Errorf("%s: %s; want %s", c.names, out[k], c.dicts)
		}
	}
}
