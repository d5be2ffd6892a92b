package inspect

import (
	"cmp"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
)

// An arrayFile is a file of a format without groups, such as .npy and .npz.
type arrayFile struct {
	serialize.File
	name    string
	format  serialize.Format
	entries []entry           // each group once with all that is in it, where its first member is in the file
	index   map[string]int    // of the entries, by path
	first   map[string]string // the first path of each Entry.Shared that several entries have
}

// An entry is an array, or one that cannot be read.
type entry struct {
	serialize.Entry
	path string
	err  error
}

// Arrays returns the file whose arrays an open file lists; nil for HDF5, of which that is the objects.
func Arrays(file File) serialize.File {
	if f, ok := file.(*arrayFile); ok {
		return f.File
	}
	return nil
}

func newArrays(file serialize.File, name string, format serialize.Format) *arrayFile {
	f := &arrayFile{File: file, name: name, format: format, first: map[string]string{}}
	names, paths, sharing := map[string]bool{}, map[string]bool{}, map[string]string{}
	for e, err := range file.All() {
		for names[e.Name] {
			e.Name, e.Renamed = e.Name+"'", cmp.Or(e.Renamed, e.Name)
		}
		names[e.Name] = true
		f.entries = append(f.entries, entry{e, Clean(e.Name), err})
	}
	root := &node{entry: -1}
	for i := range f.entries {
		e := &f.entries[i]
		if cleaned := e.path; cleaned != "/"+e.Name { // names that differ in slashes at their ends have the same path
			for paths[e.path] || names[e.path[1:]] && Clean(e.path[1:]) == e.path {
				e.path += "'"
			}
			if e.path != cleaned {
				e.Renamed = e.Name
			}
		}
		paths[e.path] = true
		if first, again := sharing[e.Shared]; again {
			f.first[e.Shared] = first
		} else if e.Shared != "" {
			sharing[e.Shared] = e.path
		}
		root.add(e.path, i)
	}
	f.entries = root.collect(make([]entry, 0, len(f.entries)), f.entries)
	f.index = make(map[string]int, len(f.entries))
	for i := range f.entries {
		if f.index[f.entries[i].path] = i; f.first[f.entries[i].Shared] == "" {
			f.entries[i].Shared = ""
		}
	}
	return f
}

// A node is a group that names imply, or an array.
type node struct {
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
			member = &node{entry: -1}
			if n.members == nil {
				n.members = map[string]*node{}
			}
			n.members[path[:k]] = member
			n.order = append(n.order, member)
		}
		n = member
	}
	n.entry = i
}

// collect appends the entries below n to a list.
func (n *node) collect(list, entries []entry) []entry {
	for _, member := range n.order {
		if member.entry >= 0 {
			list = append(list, entries[member.entry])
		}
		list = member.collect(list, entries)
	}
	return list
}

// groupsAbove yields the groups in which a path is and the path before it, the last one, is not.
func groupsAbove(path, before string) iter.Seq[string] {
	common := 0
	for common < min(len(path), len(before)) && path[common] == before[common] {
		common++
	}
	if common == len(before) {
		common++ // path[:len(before)] is before itself
	}
	return func(yield func(string) bool) {
		for k := common; k < len(path); k++ {
			if path[k] == '/' && !yield(path[:k]) {
				return
			}
		}
	}
}

func (f *arrayFile) Name() string   { return f.name }
func (f *arrayFile) Format() string { return f.format.Name }

func (f *arrayFile) Detected() serialize.Format { return f.format }

// Entries yields the root with the metadata, the groups that names imply, and the arrays.
// Each group comes once, with all that is in it, wherever the file has its members.
func (f *arrayFile) Entries(path string) (iter.Seq[Object], error) {
	path = Clean(path)
	below := func(name string) bool { return path == "/" || name == path || strings.HasPrefix(name, path+"/") }
	if len(f.entries) > 0 && !slices.ContainsFunc(f.entries, func(e entry) bool { return below(e.path) }) {
		_, err := f.Find(path)
		return nil, err
	}
	return func(yield func(Object) bool) {
		if path == "/" && !yield(Object{Path: "/", Kind: "group", Attrs: f.meta(), Omitted: f.omitted()}) {
			return
		}
		before := ""
		for _, e := range f.entries {
			if !below(e.path) {
				continue
			}
			for group := range groupsAbove(e.path, before) {
				if len(group) >= len(path) && !yield(Object{Path: group, Kind: "group"}) {
					return
				}
			}
			if !yield(f.object(e)) {
				return
			}
			before = e.path
		}
	}, nil
}

// omitted returns what the file has beside arrays and metadata.
func (f *arrayFile) omitted() loss.List {
	if o, ok := f.File.(serialize.Omitter); ok {
		return o.Omitted()
	}
	return nil
}

func (f *arrayFile) meta() []Attr {
	var attrs []Attr
	meta := f.Meta()
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		attrs = append(attrs, describeValue(name, meta[name]))
	}
	return attrs
}

// object describes an array. One of elements that cannot be read is described too.
func (f *arrayFile) object(e entry) Object {
	o := Object{Path: e.path, Kind: e.kind(), Attrs: e.attrs(), Err: e.err}
	switch {
	case e.Array.Data != nil:
		o.Data = Describe(e.Entry)
		o.Data.Renamed = e.Renamed
		if first := f.first[e.Shared]; first != "" && first != e.path {
			o.Data.Shares = first
		}
	case e.Elements != nil:
		o.Err, o.Unread, o.Data = nil, e.err, Describe(e.Entry)
	}
	return o
}

// kind returns the kind of object that an entry is.
func (e *entry) kind() string {
	if e.Array.Data == nil && e.Elements == nil {
		return "unknown"
	}
	return "dataset"
}

// attrs describes the attributes of an entry.
func (e *entry) attrs() (attrs []Attr) {
	if len(e.Attrs) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(e.Attrs)) {
		attrs = append(attrs, describeValue(name, e.Attrs[name]))
	}
	return attrs
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

// Describe describes the data of an entry.
func Describe(e serialize.Entry) *Dataset {
	if e.Elements == nil {
		return describeArray(e.Array)
	}
	shape := e.Elements.View.Shape
	d := &Dataset{Shape: shape, MaxShape: shape, DType: e.Elements.Type, Layout: "contiguous", Size: -1, Stored: -1}
	if e.Elements.Missing {
		d.Changes = []string{"empty strings stand for missing ones"}
	}
	return d
}

func describeArray(a storage.Array) *Dataset {
	size := a.NBytes()
	d := &Dataset{Shape: a.Shape, MaxShape: a.Shape, DType: a.Type.String(), Layout: "contiguous", Size: size, Stored: -1, Numbers: true}
	if !a.Contiguous() {
		d.Layout, d.Strides = "strided", a.Stride
	}
	return d
}

func (f *arrayFile) Find(path string) (Selection, error) {
	if i, ok := f.index[Clean(path)]; ok {
		return f.entries[i].selected(f.name)
	}
	var names []string
	for _, e := range f.entries {
		names = append(names, e.path)
	}
	if Clean(path) == "/" {
		if len(names) == 1 {
			s, err := f.entries[0].selected(f.name)
			s.Listed = false // it is asked for without its name
			return s, err
		}
		return Selection{}, fmt.Errorf("%s has %d arrays; name one: %s:%s", f.name, len(names), f.name, firstOr(names, "/name"))
	}
	return Selection{}, errkind.Errorf(fs.ErrNotExist, "%s has no array %s%s", f.name, path, spell.Hint(Clean(path), names))
}

// selected returns the data of an entry of the named file.
func (e entry) selected(file string) (Selection, error) {
	s := Selection{Entry: e.Entry, Listed: true}
	if e.err != nil {
		return s, fmt.Errorf("%s: %s: %w", file, e.path, e.err)
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
