package serializetest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// TestFlippedBits changes bits of the named file, whose format has checksums, one at a time: a random bit of
// about one of step bytes, or every bit if step is 1. It reports those that neither opening nor verifying the
// file finds, although arrays, attributes or metadata are others.
func TestFlippedBits(t *testing.T, format, name string, step int) {
	t.Helper()
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want, ok := verifiedContent(format, whole)
	if !ok {
		t.Fatalf("%s is not found sound: %s", name, want)
	}
	r := rand.New(rand.NewPCG(7, 7))
	changed := bytes.Clone(whole)
	for at := range whole {
		bits := []int{r.IntN(8)}
		if step == 1 {
			bits = []int{0, 1, 2, 3, 4, 5, 6, 7}
		} else if r.IntN(step) > 0 {
			continue
		}
		for _, bit := range bits {
			changed[at] ^= 1 << bit
			if got, sound := verifiedContent(format, changed); sound && got != want {
				t.Errorf("bit %d of byte %d of %d is not found:\n%s", bit, at, len(whole), firstChange(got, want))
			}
			changed[at] ^= 1 << bit
		}
	}
}

// verifiedContent returns all that a file holds as text, and whether it is found sound.
func verifiedContent(format string, b []byte) (text string, ok bool) {
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "file", serialize.Options{Format: format})
	if err != nil {
		return err.Error(), false
	}
	defer f.Close()
	for name, err := range serialize.Verify(context.Background(), f) {
		if err != nil {
			return name + ": " + err.Error(), false
		}
	}
	var all strings.Builder
	meta := f.Meta()
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		fmt.Fprintf(&all, "metadata %q is %q\n", key, meta[key])
	}
	for e, err := range f.All() {
		fmt.Fprintf(&all, "%q %v %v", e.Name, e.Array, err)
		if err == nil && e.Elements == nil {
			fmt.Fprintf(&all, " %v %x", e.Array.Type, elementsOf(e.Array))
		}
		for _, name := range slices.Sorted(maps.Keys(e.Attrs)) {
			value := e.Attrs[name]
			if a, ok := value.(storage.Array); ok {
				value = fmt.Sprintf("%v %v %x", a.Type, a.Shape, elementsOf(a))
			}
			fmt.Fprintf(&all, " %q: %q", name, value)
		}
		all.WriteByte('\n')
	}
	return all.String(), true
}

// elementsOf returns the elements of an array that has been read before.
func elementsOf(a storage.Array) []byte {
	var b bytes.Buffer
	if _, err := a.WriteTo(&b); err != nil {
		return []byte(err.Error())
	}
	return b.Bytes()
}

// firstChange returns the first lines of two texts that differ.
func firstChange(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < min(len(a), len(b))-1 && a[i] == b[i] {
		i++
	}
	return fmt.Sprintf("%.300s\nwas\n%.300s", a[i], b[i])
}

// flips saves a small file and changes every bit of it, if the format has checksums.
func (x examiner) flips(t *testing.T) {
	name := x.file(t)
	a := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	list := []serialize.Entry{
		{Name: "a", Array: a, Shared: "a", Attrs: map[string]any{"unit": "mm", "scale": storage.From([]float64{0.5})}},
		{Name: "tied", Array: a, Shared: "a"},
		{Name: "b/c", Array: storage.From([]int16{7, 8, 9}, 3)}, {Name: "empty", Array: storage.From([]float32{}, 0, 3)},
	}
	if x.Single {
		list = list[:1]
	}
	for i := range list {
		list[i].Attrs, _ = x.KeepAttrs(list[i])
	}
	c := serialize.Contents{Entries: serialize.Entries(list...)}
	if x.Meta {
		c.Meta = map[string]string{"epoch": "3", "name": "x"}
	}
	if err := serialize.Save(name, x.Name, c); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	checked := serialize.HasChecksums(f)
	f.Close()
	if !checked {
		t.Skip("the format has no checksums")
	}
	step := 7
	if testing.Short() {
		step = 100
	}
	TestFlippedBits(t, x.Name, name, step)
}
