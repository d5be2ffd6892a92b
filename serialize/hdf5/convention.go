package hdf5

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/hdf5probe"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// A Convention gives objects of HDF5 files meanings that HDF5 does not know, such as those
// of MATLAB, NetCDF and AnnData. It is a format of package serialize, of files that are
// HDF5 files, too.
type Convention struct {
	Name       string
	Extensions []string
	// Named reports whether HDF5 files that have one of the extensions follow the convention, whatever
	// Match says.
	Named bool
	// Match reports whether a file follows the convention.
	Match func(f *hdf5.File) bool
	// Meanings returns the function that says what the objects of a file are.
	Meanings func(f *hdf5.File) Meanings
	// Prefix begins the names of objects in the file that are listed without it.
	Prefix string
}

// Meanings returns what a convention says an object is. If the object is an array that cannot
// be read, it returns the error and what is known of the array.
type Meanings func(o *hdf5.Object) (Meaning, error)

// A Meaning is what a convention says an object is. The zero Meaning is that of an object on
// which the convention is silent.
type Meaning struct {
	// Entry is the array that the object is, without a name and attributes. Members of a
	// group that is an array are parts of it.
	Entry *serialize.Entry
	// Part objects belong to others, and are not listed.
	Part bool
	// Members are listed in place of the object and of what is below it, such as the elements of
	// a cell of MATLAB.
	Members []Member
	// Encoding describes what the array is stored as: "csr_matrix of 5 stored elements".
	Encoding string
	// Reversed reports whether the axes are those of the dataset in reverse order.
	Reversed bool
	// Stored is the number of stored bytes that the elements come from.
	Stored func() (int, error)
	// Axes are the names of the axes; nil if they have none.
	Axes []string
	// Order is that of the members of a group; the others come first. Nil for that of HDF5.
	Order []string
	// Hidden reports whether an attribute is accounted for by the meaning. Nil for none.
	Hidden func(attribute string) bool
}

// A Member is an object that is listed below another, wherever it is stored.
type Member struct {
	Name string // what the path of the other is extended by, such as "{1,2}" or "/field"
	Path string // of the object; "" for none, which is an error
}

// Hides reports whether an attribute is accounted for by the meaning.
func (m Meaning) Hides(attribute string) bool { return m.Hidden != nil && m.Hidden(attribute) }

// Plain reports whether the convention says nothing of the object.
func (m Meaning) Plain() bool {
	return m.Entry == nil && !m.Part && m.Members == nil && m.Order == nil && m.Axes == nil && m.Hidden == nil
}

// conventions are the names of those that are registered.
var conventions []string

// IsConvention reports whether the named format is a convention of HDF5 files.
func IsConvention(format string) bool { return slices.Contains(conventions, format) }

// Register makes the convention a format that is read.
func (c Convention) Register() {
	conventions = append(conventions, c.Name)
	refines := ""
	if c.Named {
		refines = "hdf5"
	}
	serialize.Register(serialize.Format{
		Name: c.Name, Extensions: c.Extensions, Refines: refines, Meta: true, Attrs: true, Nulls: true, Shares: true,
		Match: c.match, Open: c.open,
	})
}

func (c Convention) match(r io.ReaderAt, size int64) serialize.Confidence {
	if match(r, size) == serialize.NoMatch {
		return serialize.NoMatch
	}
	f, err := hdf5probe.Open(r, size)
	if err != nil || !c.Match(f) {
		return serialize.NoMatch
	}
	return serialize.ExactMatch
}

func (c Convention) open(in serialize.Input) (serialize.File, error) {
	f, err := openFile(in)
	if err != nil {
		return nil, err
	}
	f.format, f.meanings, f.prefix = c.Name, c.Meanings(f.in), c.Prefix
	f.members = sync.OnceValue(f.listMembers)
	return f, nil
}

// RootAttribute returns an attribute of the root group that is a string, or "".
func RootAttribute(f *hdf5.File, name string) string {
	root, err := f.Root()
	if err != nil {
		return ""
	}
	return Text(root, name)
}

// HasMember reports whether one of the first members of the root group satisfies is.
func HasMember(f *hdf5.File, is func(*hdf5.Object) bool) bool {
	root, err := f.Root()
	if err != nil {
		return false
	}
	const looked = 64 // members
	n := 0
	for o, err := range root.Members() {
		if err == nil && is(o) {
			return true
		}
		if n++; n == looked {
			break
		}
	}
	return false
}

// Text returns an attribute that is a string, or "".
func Text(o *hdf5.Object, name string) string {
	a, err := o.Attribute(name)
	if err != nil || a.Type == nil || !a.Type.IsString() {
		return ""
	}
	list, err := a.Strings()
	if err != nil || len(list) != 1 {
		return ""
	}
	return list[0]
}

// Format returns the name of the format that the file was opened in: hdf5, or that of a
// convention.
func (f *File) Format() string { return f.format }

// Plain returns the same file without the convention. Closing either closes both.
func (f *File) Plain() *File {
	plain := *f
	plain.format, plain.meanings, plain.prefix, plain.members = "hdf5", nil, "", nil
	return &plain
}

// Meaning returns what an object of the file is.
func (f *File) Meaning(o *hdf5.Object) (Meaning, error) {
	if f.meanings == nil {
		return Meaning{}, nil
	}
	return f.meanings(o)
}

// listed returns the path under which an object is listed.
func (f *File) listed(path string) string {
	if f.prefix == "" {
		return path
	}
	at := strings.LastIndexByte(path, '/') + 1
	return path[:at] + strings.TrimPrefix(path[at:], f.prefix)
}

// Find returns the object that is listed under a path, without its meaning.
func (f *File) Find(path string) (Item, error) {
	if at := strings.LastIndexByte(path, '/') + 1; f.prefix != "" && at < len(path) {
		if o, err := f.in.Lookup(path[:at] + f.prefix + path[at:]); err == nil {
			return Item{Object: o, Listed: f.listed(o.Path)}, nil
		}
	}
	o, err := f.in.Lookup(path)
	if err == nil {
		return Item{Object: o, Listed: f.listed(o.Path)}, nil
	}
	if f.members != nil {
		if item, ok := f.members()["/"+strings.Trim(path, "/")]; ok {
			return item, nil
		}
	}
	return Item{}, err
}

// listMembers returns the objects that are listed elsewhere than they are stored, by their listed
// paths.
func (f *File) listMembers() map[string]Item {
	list := map[string]Item{}
	root, err := f.Root()
	if err != nil {
		return list
	}
	for item := range f.Items(root) {
		if item.Listed != f.listed(item.Path) {
			list[item.Listed] = Item{Object: item.Object, Listed: item.Listed}
		}
	}
	return list
}

// Root returns the root group, without its meaning.
func (f *File) Root() (Item, error) {
	o, err := f.in.Root()
	return Item{Object: o, Listed: "/"}, err
}

// An Item is an object and what it is.
type Item struct {
	*hdf5.Object
	Listed  string // its path without the prefix of a convention, or that of a member of another
	Meaning Meaning
}

// Items yields the objects at and below start, as [hdf5.Object.Walk] does, without parts of
// others, and members in the order of their group.
func (f *File) Items(start Item) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		const reference = 8 // bytes
		w := walker{file: f, yield: yield, left: f.in.Size()/reference + 64}
		w.walk(start)
	}
}

// A walker goes through the objects of a file.
type walker struct {
	file  *File
	yield func(Item, error) bool
	left  int      // members, and objects below them, that may still be listed: a file has no more references than fit
	above []string // paths of the objects that the current one is a member of
}

// walk yields the objects at and below start, and reports whether to go on.
func (w *walker) walk(start Item) bool {
	whole := ""      // the path of a group that is an array, and "/"
	var group sorter // that has an order
	at, listed := strings.TrimSuffix(start.Path, "/"), strings.TrimSuffix(start.Listed, "/")
	for o, err := range start.Walk() {
		if whole != "" && strings.HasPrefix(o.Path, whole) {
			continue
		}
		item := Item{Object: o, Listed: start.Listed}
		if o != start.Object {
			item.Listed = w.file.listed(listed + strings.TrimPrefix(o.Path, at))
			if len(w.above) > 0 && !w.count() {
				return group.flush(w.yield) && w.yield(unread(item), w.crowded(start.Path))
			}
		}
		if err == nil && (o.Kind == hdf5.KindGroup || o.Kind == hdf5.KindDataset) {
			item.Meaning, err = w.file.Meaning(o)
		}
		if item.Meaning.Part && o != start.Object && len(w.above) == 0 {
			continue
		}
		if whole = ""; item.Meaning.Entry != nil || item.Meaning.Members != nil {
			whole = o.Path + "/"
		}
		if !group.holds(o.Path) {
			if !group.flush(w.yield) {
				return false
			}
			group = sorter{}
		}
		switch {
		case group.path != "":
			group.items = append(group.items, failedItem{item, err})
		case err == nil && item.Meaning.Members != nil:
			if !w.walkMembers(item) {
				return false
			}
		case !w.yield(item, err):
			return false
		case item.Meaning.Order != nil:
			group = sorter{path: strings.TrimSuffix(o.Path, "/") + "/", order: item.Meaning.Order}
		}
	}
	return group.flush(w.yield)
}

// walkMembers is walk for the members of an item.
func (w *walker) walkMembers(item Item) bool {
	w.above = append(w.above, item.Path)
	defer func() { w.above = w.above[:len(w.above)-1] }()
	for _, m := range item.Meaning.Members {
		member := Item{Listed: item.Listed + m.Name}
		var err error
		const deepest = 32
		switch {
		case !w.count():
			err = w.crowded(item.Path)
		case m.Path == "":
			err = fmt.Errorf("%s: it refers to nothing: %w", item.Path, storage.ErrState)
		case slices.ContainsFunc(w.above, func(path string) bool { return isWithin(path, m.Path) }):
			err = fmt.Errorf("%s: it refers to %s, which has it as a member: %w", item.Path, m.Path, storage.ErrState)
		case len(w.above) > deepest:
			err = fmt.Errorf("%s: members of members, more than %d deep: %w", item.Path, deepest, storage.ErrState)
		default:
			member.Object, err = w.file.in.Lookup(m.Path)
		}
		if err != nil {
			member.Object = item.Object
			if !w.yield(unread(member), err) {
				return false
			}
			if w.left < 0 {
				return true
			}
			continue
		}
		if !w.walk(member) {
			return false
		}
	}
	return true
}

// count counts a member, or an object below one, and reports whether there may be as many.
func (w *walker) count() bool {
	w.left--
	return w.left >= 0
}

// crowded is the error of an object whose members are too many.
func (w *walker) crowded(path string) error {
	return fmt.Errorf("%s: there are more references than a file of %d bytes has room for: %w", path, w.file.in.Size(), storage.ErrState)
}

// unread returns the item of a reference that cannot be followed.
func unread(item Item) Item {
	item.Meaning.Entry = &serialize.Entry{Elements: &serialize.Elements{View: views.Of(), Type: "reference"}}
	return item
}

// isWithin reports whether a path is that of a group or of an object below it.
func isWithin(path, group string) bool {
	return strings.HasPrefix(path+"/", strings.TrimSuffix(group, "/")+"/")
}

// A sorter sorts what is below a group.
type sorter struct {
	path  string // of the group, and "/", or ""
	order []string
	items []failedItem
}

type failedItem struct {
	Item
	err error
}

func (s sorter) holds(path string) bool { return s.path != "" && strings.HasPrefix(path, s.path) }

// rank returns the index of the member that an item is or is below of.
func (s sorter) rank(item failedItem) int {
	name, _, _ := strings.Cut(strings.TrimPrefix(item.Path, s.path), "/")
	return slices.Index(s.order, name)
}

// flush yields the items in order.
func (s sorter) flush(yield func(Item, error) bool) bool {
	slices.SortStableFunc(s.items, func(a, b failedItem) int { return s.rank(a) - s.rank(b) })
	for _, item := range s.items {
		if !yield(item.Item, item.err) {
			return false
		}
	}
	return true
}

// entries yields the arrays of the file.
func (f *File) entries(yield func(serialize.Entry, error) bool) {
	for l, err := range f.arrays() {
		if !yield(l.Entry, err) {
			return
		}
	}
}

// arrays yields the arrays of the file, and the items that they are.
func (f *File) arrays() iter.Seq2[listedArray, error] {
	return func(yield func(listedArray, error) bool) {
		root, err := f.Root()
		if err != nil {
			yield(listedArray{}, err)
			return
		}
		for item, err := range f.Items(root) {
			l, ok := listedArray{item, serialize.Entry{Name: strings.TrimPrefix(item.Listed, "/")}}, true
			if err == nil || item.Meaning.Entry != nil {
				l.Entry, ok, err = item.entry(err)
			}
			if ok && !yield(l, err) {
				return
			}
		}
	}
}

type listedArray struct {
	Item
	serialize.Entry
}

// entry returns the array that an item is. ok is false for groups, links and
// datasets without a value.
func (i Item) entry(failed error) (e serialize.Entry, ok bool, err error) {
	if i.Meaning.Entry != nil {
		e = *i.Meaning.Entry
		e.Name = strings.TrimPrefix(i.Listed, "/")
		if failed == nil {
			e.Attrs, failed = attrsOf(i.Object, i.Meaning)
		}
		return e, true, failed
	}
	if i.Kind != hdf5.KindDataset {
		return e, false, nil
	}
	d, err := i.Dataset()
	if err == nil && d.Shape == nil {
		return e, false, nil
	}
	if err == nil {
		e, err = entryOf(d, i.Meaning)
		e.Name = strings.TrimPrefix(i.Listed, "/")
	}
	return e, true, err
}

// attrsOf returns the attributes of an object that an Entry can have.
func attrsOf(o *hdf5.Object, m Meaning) (map[string]any, error) {
	all, err := o.Attributes()
	var attrs map[string]any
	for _, a := range all {
		value, err := a.Plain()
		if err != nil || m.Hides(a.Name) {
			continue // of a type that no other format has
		}
		if attrs == nil {
			attrs = map[string]any{}
		}
		attrs[a.Name] = value
	}
	return attrs, err
}
