package serializetest

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

func (x examiner) names(t *testing.T) {
	if x.Single {
		return
	}
	r := rand.New(rand.NewPCG(3, 3))
	var list []named
	for _, name := range append([]string{"w", "hidden.weight", "layers.0.bias", "with space", "größe"}, x.extra...) {
		list = append(list, named{name, random(r, dtype.Float32, 2)})
	}
	meta := map[string]string{}
	if x.Meta {
		meta = map[string]string{"format": "a", "empty": "", "long": string(bytes.Repeat([]byte("x"), 20_000)), "größe": "\"1\"\n\\ä"}
	}
	name := x.file(t)
	x.save(t, name, meta, list...)
	x.check(t, name, meta, list...)
	x.lookup(t, name, list...)
}

// lookup finds each array by its name, and none by another.
func (x examiner) lookup(t *testing.T, name string, list ...named) {
	f, err := serialize.Open(name)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	for _, n := range list {
		e, err := serialize.Lookup(f, n.name)
		if err != nil || e.Name != n.name || e.Array.Type != n.Type || !bytes.Equal(content(t, e.Array), content(t, n.Array)) {
			t.Errorf("lookup %q: %q, %v, %v", n.name, e.Name, e.Array, err)
		}
	}
	if e, err := serialize.Lookup(f, "no such array"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lookup of a name that is not there: %q, %v; want an error of kind fs.ErrNotExist", e.Name, err)
	}
}

func (x examiner) attributes(t *testing.T) {
	if !x.Attrs {
		return
	}
	want := map[string]any{"unit": "m/s", "names": []string{"a", "größe"}, "scale": storage.From([]float64{0.5})}
	e := serialize.Entry{Name: "w", Array: storage.From([]float32{1, 2}, 2), Attrs: want}
	name := x.file(t)
	if err := serialize.Save(name, x.Name, serialize.Contents{Entries: one(e, nil)}); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		scale, ok := e.Attrs["scale"].(storage.Array)
		if !ok || len(e.Attrs) != len(want) || e.Attrs["unit"] != want["unit"] || !reflect.DeepEqual(e.Attrs["names"], want["names"]) ||
			!bytes.Equal(content(t, scale), content(t, want["scale"].(storage.Array))) {
			t.Errorf("attributes %v, want %v", e.Attrs, want)
		}
	}
}
