package inspect

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
)

// An arrays is a file without groups, such as .npy and .npz.
type arrays struct {
	serialize.File
	name, format string
	entries      []entry
}

// An entry is an array, or one that cannot be read.
type entry struct {
	serialize.Entry
	err error
}

func newArrays(file serialize.File, name, format string) *arrays {
	f := &arrays{File: file, name: name, format: format}
	for e, err := range file.All() {
		f.entries = append(f.entries, entry{e, err})
	}
	return f
}

func (f *arrays) Name() string   { return f.name }
func (f *arrays) Format() string { return f.format }

// Entries yields the root with the metadata, the arrays, and the groups that their
// names imply.
func (f *arrays) Entries(path string) (iter.Seq[Object], error) {
	path = Clean(path)
	below := func(name string) bool { return path == "/" || name == path || strings.HasPrefix(name, path+"/") }
	if !f.any(below) {
		_, err := f.Find(path)
		return nil, err
	}
	return func(yield func(Object) bool) {
		if path == "/" && !yield(Object{Path: "/", Kind: "group", Attrs: f.meta()}) {
			return
		}
		shown := map[string]bool{"": true} // groups implied by names
		for _, e := range f.entries {
			at := Clean(e.Name)
			if !below(at) {
				continue
			}
			for k, r := range at {
				if group := at[:k]; r == '/' && !shown[group] && len(group) >= len(path) {
					shown[group] = true
					if !yield(Object{Path: group, Kind: "group"}) {
						return
					}
				}
			}
			if !yield(e.object(at)) {
				return
			}
		}
	}, nil
}

// any reports whether the file has a wanted array, or no arrays.
func (f *arrays) any(wanted func(name string) bool) bool {
	empty := true
	for _, e := range f.entries {
		if empty = false; wanted(Clean(e.Name)) {
			return true
		}
	}
	return empty
}

func (f *arrays) meta() []Attr { return textAttrs(f.Meta()) }

// textAttrs returns the attributes that are strings.
func textAttrs[T any](values map[string]T) []Attr {
	var attrs []Attr
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if text, ok := any(values[name]).(string); ok {
			get := func() (any, error) { return text, nil }
			attrs = append(attrs, Attr{Name: name, Shape: []int{}, DType: "string", Get: get, Keep: get})
		}
	}
	return attrs
}

// object describes the array at a path.
func (e entry) object(path string) Object {
	o := Object{Path: path, Kind: "dataset", Err: e.err, Attrs: textAttrs(e.Attrs)}
	switch {
	case e.Array.Data != nil:
		o.Data = describeArray(e.Array)
	case e.Elements != nil:
		shape := e.Elements.View.Shape
		o.Data = &Dataset{Shape: shape, MaxShape: shape, DType: e.Elements.Type, Layout: "contiguous", Size: -1, Stored: -1}
	default:
		o.Kind = "unknown"
	}
	return o
}

// selection returns all elements of e.
func (e entry) selection() Selection {
	if e.Elements != nil {
		return Selection{Name: e.Name, View: e.Elements.View, DType: e.Elements.Type, Texts: e.Elements.Type == "string", Values: e.Elements.Values}
	}
	return Selection{Name: e.Name, Array: e.Array, Numbers: true, DType: e.Array.Type.String()}
}

func describeArray(a storage.Array) *Dataset {
	size := a.Len() * a.Type.Size()
	return &Dataset{Shape: a.Shape, MaxShape: a.Shape, DType: a.Type.String(), Layout: "contiguous", Size: size, Stored: -1, Numbers: true}
}

func (f *arrays) Find(path string) (Selection, error) {
	var names []string
	var only Selection
	var failed error
	for _, e := range f.entries {
		failed = e.err
		only = e.selection()
		if Clean(e.Name) == Clean(path) {
			return only, e.err
		}
		names = append(names, Clean(e.Name))
	}
	if Clean(path) == "/" {
		if len(names) == 1 {
			return only, failed
		}
		return only, fmt.Errorf("%s has %d arrays; name one: %s:%s", f.name, len(names), f.name, firstOr(names, "/name"))
	}
	return only, fmt.Errorf("%s has no array %s%s", f.name, path, spell.Hint(Clean(path), names))
}

// Clean returns path with one leading slash and no trailing one.
func Clean(path string) string { return "/" + strings.Trim(path, "/") }

func firstOr(names []string, otherwise string) string {
	if len(names) == 0 {
		return otherwise
	}
	return names[0]
}
