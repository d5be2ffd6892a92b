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

// An arrayFile is a file of a format without groups, such as .npy and .npz.
type arrayFile struct {
	serialize.File
	name, format string
	entries      []entry
	index        map[string]int    // entries by path
	first        map[string]string // the first path of each Entry.Shared
}

// An entry is an array, or one that cannot be read.
type entry struct {
	serialize.Entry
	path string
	err  error
}

func newArrays(file serialize.File, name, format string) *arrayFile {
	f := &arrayFile{File: file, name: name, format: format, index: map[string]int{}, first: map[string]string{}}
	exact := map[string]bool{}
	for e, err := range file.All() {
		f.entries = append(f.entries, entry{Entry: e, err: err})
		exact["/"+e.Name] = true
	}
	for i := range f.entries {
		e := &f.entries[i]
		e.path = Clean(e.Name)
		for e.path != "/"+e.Name && f.taken(e.path, exact) {
			e.path += "'"
			e.Renamed = e.Name
		}
		if _, ok := f.first[e.Shared]; !ok {
			f.first[e.Shared] = e.path
		}
		f.index[e.path] = i
	}
	return f
}

// taken reports whether a path is that of another entry: names that differ in slashes at their
// ends have the same path.
func (f *arrayFile) taken(path string, exact map[string]bool) bool {
	_, ok := f.index[path]
	return ok || exact[path]
}

func (f *arrayFile) Name() string   { return f.name }
func (f *arrayFile) Format() string { return f.format }

// Entries yields the root with the metadata, the groups that names imply, and the arrays.
// Each group comes once, with all that is in it, wherever the file has its members.
func (f *arrayFile) Entries(path string) (iter.Seq[Object], error) {
	path = Clean(path)
	below := func(name string) bool { return path == "/" || name == path || strings.HasPrefix(name, path+"/") }
	if !f.any(below) {
		_, err := f.Find(path)
		return nil, err
	}
	root := &node{entry: -1, members: map[string]*node{}}
	for i, e := range f.entries {
		if below(e.path) {
			root.add(e.path, i)
		}
	}
	return func(yield func(Object) bool) {
		if path == "/" && !yield(Object{Path: "/", Kind: "group", Attrs: f.meta()}) {
			return
		}
		f.walk(root, path, yield)
	}, nil
}

// A node is a group that names imply, or an array.
type node struct {
	path    string
	entry   int // of an array, or -1
	order   []*node
	members map[string]*node
}

// add makes entry i a node at a path, and the parts of the path before it groups.
func (n *node) add(path string, i int) {
	for k := 1; k <= len(path); k++ {
		if k < len(path) && path[k] != '/' {
			continue
		}
		member, ok := n.members[path[:k]]
		if !ok {
			member = &node{path: path[:k], entry: -1, members: map[string]*node{}}
			n.members[path[:k]] = member
			n.order = append(n.order, member)
		}
		n = member
	}
	n.entry = i
}

// walk yields what is below n, leaving out groups above path.
func (f *arrayFile) walk(n *node, path string, yield func(Object) bool) bool {
	for _, member := range n.order {
		if member.entry >= 0 && !yield(f.object(f.entries[member.entry], member.path)) {
			return false
		}
		if len(member.order) == 0 {
			continue
		}
		if member.entry < 0 && len(member.path) >= len(path) && !yield(Object{Path: member.path, Kind: "group"}) {
			return false
		}
		if !f.walk(member, path, yield) {
			return false
		}
	}
	return true
}

// any reports whether the file has a wanted array, or no arrays.
func (f *arrayFile) any(wanted func(name string) bool) bool {
	empty := true
	for _, e := range f.entries {
		if empty = false; wanted(e.path) {
			return true
		}
	}
	return empty
}

func (f *arrayFile) meta() []Attr {
	var attrs []Attr
	meta := f.Meta()
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		attrs = append(attrs, describeValue(name, meta[name]))
	}
	return attrs
}

// object describes the array at a path. One of elements that cannot be read is described too.
func (f *arrayFile) object(e entry, path string) Object {
	o := Object{Path: path, Kind: "dataset", Err: e.err}
	for _, name := range slices.Sorted(maps.Keys(e.Attrs)) {
		o.Attrs = append(o.Attrs, describeValue(name, e.Attrs[name]))
	}
	switch {
	case e.Array.Data != nil:
		o.Data = e.describe()
		o.Data.Renamed = e.Renamed
		if first := f.first[e.Shared]; e.Shared != "" && first != path {
			o.Data.Shares = first
		}
	case e.Elements != nil:
		o.Err, o.Unread, o.Data = nil, e.err, e.describe()
	default:
		o.Kind = "unknown"
	}
	return o
}

// describeValue describes an attribute of an array: a string, strings or numbers.
func describeValue(name string, value any) Attr {
	keep := func() (any, error) { return value, nil }
	a := Attr{Name: name, Shape: []int{}, DType: "string", Get: keep, Keep: keep}
	switch v := value.(type) {
	case []string:
		a.Shape = []int{len(v)}
		a.Get = func() (any, error) {
			list := make([]any, len(v))
			for i, text := range v {
				list[i] = text
			}
			return list, nil
		}
	case storage.Array:
		a.Shape, a.DType = v.Shape, v.Type.String()
		a.Get = func() (any, error) { return numbers(v) }
	}
	return a
}

// numbers returns the elements of an array: a number, or a list.
func numbers(a storage.Array) (any, error) {
	list := []any{}
	if a.Type.IsInt() {
		elems, err := storage.Read[int64](a)
		if err != nil {
			return nil, err
		}
		for _, x := range elems {
			list = append(list, x)
		}
	} else {
		elems, err := storage.Read[float64](a)
		if err != nil {
			return nil, err
		}
		for _, x := range elems {
			list = append(list, x)
		}
	}
	if a.Rank() == 0 {
		return list[0], nil
	}
	return list, nil
}

// describe describes the data of an entry.
func (e entry) describe() *Dataset {
	if e.Elements == nil {
		return describeArray(e.Array)
	}
	shape := e.Elements.View.Shape
	return &Dataset{Shape: shape, MaxShape: shape, DType: e.Elements.Type, Layout: "contiguous", Size: -1, Stored: -1}
}

func describeArray(a storage.Array) *Dataset {
	size := a.Len() * a.Type.Size()
	d := &Dataset{Shape: a.Shape, MaxShape: a.Shape, DType: a.Type.String(), Layout: "contiguous", Size: size, Stored: -1, Numbers: true}
	if !a.Contiguous() {
		d.Layout, d.Strides = "strided", a.Stride
	}
	return d
}

// selection returns the data of an entry.
func (e entry) selection() Selection {
	if e.Elements != nil {
		return Selection{Name: e.Name, View: e.Elements.View, DType: e.Elements.Type, Texts: e.Elements.Type == "string", Values: e.Elements.Values}
	}
	return Selection{Name: e.Name, Array: e.Array, Shared: e.Shared, Numbers: true, DType: e.Array.Type.String()}
}

func (f *arrayFile) Find(path string) (Selection, error) {
	if i, ok := f.index[Clean(path)]; ok {
		return f.selected(i)
	}
	var names []string
	for _, e := range f.entries {
		names = append(names, e.path)
	}
	if Clean(path) == "/" {
		if len(names) == 1 {
			s, err := f.selected(0)
			s.Entry = false // it is asked for without its name
			return s, err
		}
		return Selection{}, fmt.Errorf("%s has %d arrays; name one: %s:%s", f.name, len(names), f.name, firstOr(names, "/name"))
	}
	return Selection{}, fmt.Errorf("%s has no array %s%s", f.name, path, spell.Hint(Clean(path), names))
}

// selected returns the data of entry i.
func (f *arrayFile) selected(i int) (Selection, error) {
	e := f.entries[i]
	s := e.selection()
	if s.Entry = true; e.err != nil {
		return s, fmt.Errorf("%s: %s: %w", f.name, e.path, e.err)
	}
	return s, nil
}

// Clean returns path with one leading slash and no trailing one.
func Clean(path string) string { return "/" + strings.Trim(path, "/") }

func firstOr(names []string, otherwise string) string {
	if len(names) == 0 {
		return otherwise
	}
	return names[0]
}
