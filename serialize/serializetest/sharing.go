package serializetest

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
)

// sharing saves entries that share their elements: under all names they are read as they
// were and, where the format stores them once, as shared.
func (x examiner) sharing(t *testing.T) {
	if x.Single {
		return
	}
	a := random(rand.New(rand.NewPCG(6, 6)), dtype.Float32, 100, 100)
	turned, _ := a.Transpose()
	list := []serialize.Entry{
		{Name: "embedding", Array: a, Shared: "e"}, {Name: "head", Array: a, Shared: "e"},
		{Name: "turned", Array: a.With(turned), Shared: "e"}, {Name: "apart", Array: a},
	}
	if x.Attrs {
		list = append(list, serialize.Entry{Name: "unit", Array: a, Shared: "e", Attrs: map[string]any{"unit": "m"}})
	}
	name := x.saveEntries(t, list)
	var want []named
	for _, e := range list {
		want = append(want, named{e.Name, e.Array})
	}
	x.check(t, name, map[string]string{}, want...)
	if !x.Shares {
		return
	}
	x.checkShared(t, name, list)
	for i := range list {
		list[i].Shared = ""
	}
	apart := x.saveEntries(t, list)
	const elements = 100 * 100 * 4
	if saved := size(t, apart) - size(t, name); saved < elements*3/4 {
		t.Errorf("sharing %d bytes saves %d", elements, saved)
	}
}

// saveEntries saves entries to a new file, and returns its name.
func (x examiner) saveEntries(t *testing.T, list []serialize.Entry) string {
	t.Helper()
	name := x.file(t)
	if err := serialize.Save(name, x.Name, serialize.Contents{Entries: serialize.Entries(list...)}); err != nil {
		t.Fatal(err)
	}
	return name
}

// checkShared reports where the entries of a file do not share what those of sharing share, or
// have other strides and attributes.
func (x examiner) checkShared(t *testing.T, name string, list []serialize.Entry) {
	byShared, attrs := map[string][]string{}, map[string]int{}
	for e, err := range Open(t, name).All() {
		if err != nil {
			t.Fatal(err)
		}
		attrs[e.Name] = len(e.Attrs)
		if e.Shared == "" { // with nothing
			e.Shared = "alone: " + e.Name
		}
		byShared[e.Shared] = append(byShared[e.Shared], e.Name)
		saved := slices.IndexFunc(list, func(l serialize.Entry) bool { return l.Name == e.Name })
		if x.Views && !slices.Equal(e.Array.Stride, list[saved].Array.Stride) {
			t.Errorf("%q: strides %v are not kept", e.Name, e.Array.Stride)
		}
	}
	together := []string{"embedding", "head"}
	if x.Views {
		together = append(together, "turned")
	}
	if x.Views && x.Attrs {
		together = append(together, "unit")
	}
	for _, names := range byShared {
		slices.Sort(names)
		if len(names) > 1 && !slices.Equal(names, together) || len(names) == 1 && slices.Contains(together, names[0]) {
			t.Errorf("%q share elements; want %q, and no others", names, together)
		}
	}
	if attrs["embedding"] != 0 || attrs["head"] != 0 || x.Attrs && attrs["unit"] != 1 {
		t.Errorf("numbers of attributes %v; want one, of unit", attrs)
	}
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
