package hdf5

import (
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// A Convention gives objects of HDF5 files meanings that HDF5 does not know, such as those
// of MATLAB, NetCDF and AnnData. It is a format of package serialize, of files that are
// HDF5 files, too.
type Convention struct {
	Name       string
	Extensions []string
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

// Hides reports whether an attribute is accounted for by the meaning.
func (m Meaning) Hides(attribute string) bool { return m.Hidden != nil && m.Hidden(attribute) }

// Plain reports whether the convention says nothing of the object.
func (m Meaning) Plain() bool {
	return m.Entry == nil && !m.Part && m.Order == nil && m.Axes == nil && m.Hidden == nil
}

// Register makes the convention a format that is read.
func (c Convention) Register() {
	serialize.Register(serialize.Format{
		Name: c.Name, Extensions: c.Extensions, Meta: true, Attrs: true, Shares: true,
		Match: c.match, Open: c.open,
	})
}

func (c Convention) match(r io.ReaderAt, size int64) serialize.Confidence {
	if match(r, size) == serialize.NoMatch {
		return serialize.NoMatch
	}
	f, err := hdf5.NewReader(r, size)
	if err != nil {
		return serialize.NoMatch
	}
	defer f.Close()
	if !c.Match(f) {
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
	plain.format, plain.meanings, plain.prefix = "hdf5", nil, ""
	return &plain
}

// Meaning returns what an object of the file is.
func (f *File) Meaning(o *hdf5.Object) (Meaning, error) {
	if f.meanings == nil {
		return Meaning{}, nil
	}
	m, err := f.meanings(o)
	if m.Entry != nil {
		m.Entry.Name = strings.TrimPrefix(f.Listed(o.Path), "/")
	}
	return m, err
}

// Listed returns the path under which an object is listed.
func (f *File) Listed(path string) string {
	at := strings.LastIndexByte(path, '/') + 1
	return path[:at] + strings.TrimPrefix(path[at:], f.prefix)
}

// Find returns the object that is listed under a path.
func (f *File) Find(path string) (*hdf5.Object, error) {
	if at := strings.LastIndexByte(path, '/') + 1; f.prefix != "" && at < len(path) {
		if o, err := f.in.Lookup(path[:at] + f.prefix + path[at:]); err == nil {
			return o, nil
		}
	}
	return f.in.Lookup(path)
}

// An Item is an object and what it is.
type Item struct {
	*hdf5.Object
	Listed  string // its path without the prefix of a convention
	Meaning Meaning
}

// Items yields the objects at and below start, as [hdf5.Object.Walk] does, without parts of
// others, and members in the order of their group.
func (f *File) Items(start *hdf5.Object) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		whole := ""      // the path of a group that is an array, and "/"
		var group sorter // that has an order
		for o, err := range start.Walk() {
			if whole != "" && strings.HasPrefix(o.Path, whole) {
				continue
			}
			item := Item{Object: o, Listed: f.Listed(o.Path)}
			if err == nil && (o.Kind == hdf5.KindGroup || o.Kind == hdf5.KindDataset) {
				item.Meaning, err = f.Meaning(o)
			}
			if item.Meaning.Part && o != start {
				continue
			}
			if whole = ""; item.Meaning.Entry != nil {
				whole = o.Path + "/"
			}
			if !group.holds(o.Path) {
				if !group.flush(yield) {
					return
				}
				group = sorter{}
			}
			switch {
			case group.path != "":
				group.items = append(group.items, failedItem{item, err})
			case !yield(item, err):
				return
			case item.Meaning.Order != nil:
				group = sorter{path: strings.TrimSuffix(o.Path, "/") + "/", order: item.Meaning.Order}
			}
		}
		group.flush(yield)
	}
}

// A sorter sorts what is below a group.
type sorter struct {
	path  string // of the group, and "/"; "" if there is none
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
	root, err := f.in.Root()
	if err != nil {
		yield(serialize.Entry{}, err)
		return
	}
	for item, err := range f.Items(root) {
		e, ok := serialize.Entry{Name: strings.TrimPrefix(item.Listed, "/")}, true
		if err == nil || item.Meaning.Entry != nil {
			e, ok, err = item.entry(err)
		}
		if ok && !yield(e, err) {
			return
		}
	}
}

// entry returns the array that an item is. ok is false for groups, links and
// datasets without a value.
func (i Item) entry(failed error) (e serialize.Entry, ok bool, err error) {
	if i.Meaning.Entry != nil {
		e = *i.Meaning.Entry
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
