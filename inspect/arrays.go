package inspect

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
)

// An arrayFile is a file of a format without groups, such as .npy and .npz. It keeps little of each
// entry, of which a file may have hundreds of thousands.
type arrayFile struct {
	serialize.File
	list         indexed
	name, format string
	order        []int32           // of the entries; nil if it is that of the file
	paths        map[int]string    // of entries whose path is not their name after a slash
	index        map[string]int    // of these, by path
	first        map[string]string // the first path of each Entry.Shared that several entries have
}

// An indexed file has its entries by number and by name, as a [serialize.List].
type indexed interface {
	Len() int
	At(i int) (serialize.Entry, error)
	Index(name string) (i int, ok bool)
}

// An entry is an array, or one that cannot be read.
type entry struct {
	serialize.Entry
	number int
	path   string
	err    error
}

// Arrays returns the file whose arrays an open file lists; nil for HDF5, of which that is the objects.
func Arrays(file File) serialize.File {
	if f, ok := file.(*arrayFile); ok {
		return f.File
	}
	return nil
}

func newArrays(file serialize.File, name, format string) *arrayFile {
	f := &arrayFile{File: file, list: listOf(file), name: name, format: format, paths: map[int]string{}, index: map[string]int{}, first: map[string]string{}}
	sharing := map[string]int32{} // the first entry
	for i := range f.list.Len() {
		e, _ := f.list.At(i)
		path := Clean(e.Name)
		if path != "/"+e.Name {
			for f.taken(path) {
				path += "'"
			}
			f.paths[i], f.index[path] = path, i
		}
		if first, again := sharing[e.Shared]; again {
			f.first[e.Shared] = f.entry(int(first)).path
		} else if e.Shared != "" {
			sharing[e.Shared] = int32(i)
		}
	}
	f.order = f.grouped()
	return f
}

// listOf returns the entries of a file by number.
func listOf(file serialize.File) indexed {
	if list, ok := file.(indexed); ok {
		return list
	}
	list := serialize.NewList(0, nil, file.Close)
	for e, err := range file.All() {
		for list.Has(e.Name) {
			e.Name, e.Renamed = e.Name+"'", cmp.Or(e.Renamed, e.Name)
		}
		if list.Add(e, err) != nil {
			panic("inspect: " + e.Name + " is a duplicate") // it is not
		}
	}
	return list
}

// taken reports whether a path is that of another entry: names that differ in slashes at their
// ends have the same path.
func (f *arrayFile) taken(path string) bool {
	_, ok := f.find(path)
	return ok
}

// find returns the number of the entry with a path.
func (f *arrayFile) find(path string) (i int, ok bool) {
	if i, ok := f.index[path]; ok {
		return i, true
	}
	i, ok = f.list.Index(path[1:])
	if _, other := f.paths[i]; other {
		return 0, false
	}
	return i, ok
}

// entry returns entry i with its path.
func (f *arrayFile) entry(i int) entry {
	e, changed := entry{number: i}, false
	e.Entry, e.err = f.list.At(i)
	if f.first[e.Shared] == "" {
		e.Shared = ""
	}
	if e.path, changed = f.paths[i]; !changed {
		e.path = "/" + e.Name
	} else if e.path != Clean(e.Name) {
		e.Renamed = e.Name
	}
	return e
}

// all yields the entries in their order.
func (f *arrayFile) all() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for k := range f.list.Len() {
			if f.order != nil {
				k = int(f.order[k])
			}
			if !yield(f.entry(k)) {
				return
			}
		}
	}
}

// grouped returns the entries in an order in which each group comes once with all that is in it,
// where its first member is in the file; nil if that is the order of the file.
func (f *arrayFile) grouped() []int32 {
	if f.isGrouped() {
		return nil
	}
	root := &node{entry: -1, members: map[string]*node{}}
	for i := range f.list.Len() {
		root.add(f.entry(i).path, i)
	}
	return root.collect(make([]int32, 0, f.list.Len()))
}

// isGrouped reports whether each group and each array with others below it is followed by all that
// is in it.
func (f *arrayFile) isGrouped() bool {
	seen, before := map[string]bool{}, ""
	for i := range f.list.Len() {
		path := f.entry(i).path
		for group := range groupsAbove(path, before) {
			if k, isArray := f.find(group); seen[group] || isArray && k != i {
				return false
			}
			seen[group] = true
		}
		if before = path; seen[path] {
			return false
		}
	}
	return true
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
			member = &node{entry: -1, members: map[string]*node{}}
			n.members[path[:k]] = member
			n.order = append(n.order, member)
		}
		n = member
	}
	n.entry = i
}

// collect appends the entries below n.
func (n *node) collect(list []int32) []int32 {
	for _, member := range n.order {
		if member.entry >= 0 {
			list = append(list, int32(member.entry))
		}
		list = member.collect(list)
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
func (f *arrayFile) Format() string { return f.format }

// Entries yields the root with the metadata, the groups that names imply, and the arrays.
// Each group comes once, with all that is in it, wherever the file has its members.
func (f *arrayFile) Entries(path string) (iter.Seq[Object], error) {
	path = Clean(path)
	below := func(name string) bool { return path == "/" || name == path || strings.HasPrefix(name, path+"/") }
	if f.list.Len() > 0 && !f.any(below) {
		_, err := f.Find(path)
		return nil, err
	}
	return func(yield func(Object) bool) {
		if path == "/" && !yield(Object{Path: "/", Kind: "group", Attrs: f.meta(), Omitted: f.omitted()}) {
			return
		}
		before := ""
		for e := range f.all() {
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

// Again implements [File].
func (f *arrayFile) Again(_ string, i int) (Object, Selection, error) {
	e := f.entry(i)
	s, err := e.selected(f.name)
	return Object{Path: e.path, Kind: e.kind(), Attrs: e.attrs(), Number: i}, s, err
}

// any reports whether the file has a wanted array.
func (f *arrayFile) any(wanted func(path string) bool) bool {
	for e := range f.all() {
		if wanted(e.path) {
			return true
		}
	}
	return false
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
	o := Object{Path: e.path, Kind: e.kind(), Attrs: e.attrs(), Err: e.err, Number: e.number}
	switch {
	case e.Array.Data != nil:
		o.Data = e.describe()
		o.Data.Renamed = e.Renamed
		if first := f.first[e.Shared]; first != "" && first != e.path {
			o.Data.Shares = first
		}
	case e.Elements != nil:
		o.Err, o.Unread, o.Data = nil, e.err, e.describe()
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

// describe describes the data of an entry.
func (e entry) describe() *Dataset {
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

// selection returns the data of an entry.
func (e entry) selection() Selection {
	if e.Elements != nil {
		return Selection{Name: e.Name, View: e.Elements.View, DType: e.Elements.Type, Texts: e.Elements.Type == "string", Fields: e.Elements.Fields, Values: e.Elements.Values}
	}
	return Selection{Name: e.Name, Array: e.Array, Shared: e.Shared, Numbers: true, DType: e.Array.Type.String()}
}

func (f *arrayFile) Find(path string) (Selection, error) {
	if i, ok := f.find(Clean(path)); ok {
		return f.entry(i).selected(f.name)
	}
	var names []string
	for i := range f.list.Len() {
		names = append(names, f.entry(i).path)
	}
	if Clean(path) == "/" {
		if len(names) == 1 {
			s, err := f.entry(0).selected(f.name)
			s.Entry = false // it is asked for without its name
			return s, err
		}
		return Selection{}, fmt.Errorf("%s has %d arrays; name one: %s:%s", f.name, len(names), f.name, firstOr(names, "/name"))
	}
	return Selection{}, fmt.Errorf("%s has no array %s%s", f.name, path, spell.Hint(Clean(path), names))
}

// selected returns the data of an entry of the named file.
func (e entry) selected(file string) (Selection, error) {
	s := e.selection()
	if s.Entry = true; e.err != nil {
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
