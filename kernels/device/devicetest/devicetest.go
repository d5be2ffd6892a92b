// Package devicetest compares the structs that Go passes to device code with those that the device
// code declares.
package devicetest

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

//go:embed layouts.txt
var layouts string

// A layout is a struct of the device code.
type layout struct {
	size   int
	fields []field // of numbers and addresses, and arrays of them or of structs
}

type field struct {
	offset, size, count int
	name                string
}

// structs returns the layouts by name, as scripts/layouts has written them.
func structs() map[string]*layout {
	all := map[string]*layout{}
	var current *layout
	for line := range strings.Lines(layouts) {
		var f field
		var name string
		if _, err := fmt.Sscanf(line, "\t%d %d %d %s", &f.offset, &f.size, &f.count, &f.name); err == nil {
			current.fields = append(current.fields, f)
		} else if _, err := fmt.Sscanf(line, "%s %d", &name, &f.size); err == nil && !strings.HasPrefix(line, "//") {
			current = &layout{size: f.size}
			all[name] = current
		}
	}
	return all
}

// Check fails t unless the struct twin of Go has a field for each of the device code's of that name,
// at its offset, of its size, and of the same name but for case and underscores.
// Fields of Go named _ may have any name.
func Check(t testing.TB, name string, twin any) {
	t.Helper()
	want := structs()[name]
	if want == nil {
		t.Errorf("%s: the device code has no such struct; run make ptx if it is new", name)
		return
	}
	kind := reflect.TypeOf(twin)
	if int(kind.Size()) != want.size {
		t.Errorf("%s: %d bytes in the device code, %d of %v in Go", name, want.size, kind.Size(), kind)
	}
	got := flatten(nil, kind, 0)
	for i := range min(len(got), len(want.fields)) {
		g, w := got[i], want.fields[i]
		if g.offset != w.offset || g.size != w.size || g.count != w.count || g.name != "_" && plain(g.name) != plain(w.name) {
			t.Errorf("%s: field %d is %s in the device code and %s in Go", name, i, w, g)
			return
		}
	}
	if len(got) != len(want.fields) {
		t.Errorf("%s: %d fields in the device code, %d in Go", name, len(want.fields), len(got))
	}
}

func (f field) String() string {
	return fmt.Sprintf("%d times %d bytes at %d, %q", f.count, f.size, f.offset, f.name)
}

// synonyms are names of the device code that Go has others for.
var synonyms = map[string]string{"type": "kind", "tapsize": "taps"}

// plain returns a name without underscores, in lower case.
func plain(name string) string {
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	if other := synonyms[name]; other != "" {
		return other
	}
	return name
}

// flatten appends the fields of a struct, and of its members that are structs.
func flatten(to []field, kind reflect.Type, offset int) []field {
	for i := range kind.NumField() {
		f := kind.Field(i)
		at := offset + int(f.Offset)
		if f.Type.Kind() == reflect.Struct {
			to = flatten(to, f.Type, at)
			continue
		}
		element, count := f.Type, 1
		for element.Kind() == reflect.Array {
			count *= element.Len()
			element = element.Elem()
		}
		to = append(to, field{at, int(element.Size()), count, f.Name})
	}
	return to
}
