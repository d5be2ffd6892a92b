package serialize

import (
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math"
	"strings"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/internal/nameindex"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A List is a [File] whose entries are known when it is opened. Formats embed it. It keeps little of
// each entry, of which a file may have hundreds of thousands.
type List struct {
	names  names
	arrays []listedArray
	ints   []int           // of the views of arrays: their offsets, shapes and strides
	others map[int]failing // entries of which arrays does not keep everything, by position
	index  nameindex.Index
	meta   map[string]string
	close  func() error
}

// A listedArray is an entry without attributes.
type listedArray struct {
	name, shared string
	data         storage.Storage
	view         int // in ints
	rank         uint16
	typ          dtype.Type
}

// A failing entry is one that comes with an error, which may be nil.
type failing struct {
	Entry
	err error
}

// NewList returns a list with room for n entries. Close calls close once, if it is not nil.
func NewList(n int, meta map[string]string, close func() error) *List {
	if close == nil {
		close = func() error { return nil }
	}
	return &List{arrays: make([]listedArray, 0, n), index: nameindex.New(n), others: map[int]failing{}, meta: meta, close: sync.OnceValue(close)}
}

// Add appends an entry, or one that cannot be read: err is then what All yields with it. A name that the list has is an error.
func (l *List) Add(e Entry, err error) error {
	e.Name = l.Keep(e.Name)
	return l.AddKept(e, err)
}

// NamesIn says that names of that many bytes in all, which are added next, are parts of a text of size
// bytes. If they are most of it, the list keeps the text instead of copies.
func (l *List) NamesIn(size, names int) { l.names.shared = names > size/4*3 }

// Keep returns a copy of the name of the entry that is added next, for what else keeps the name.
func (l *List) Keep(name string) string { return l.names.keep(name) }

// AddKept is Add of an entry of another file, which keeps its name.
func (l *List) AddKept(e Entry, err error) error {
	if l.Has(e.Name) {
		return fmt.Errorf("duplicate name %q: %w", e.Name, storage.ErrState)
	}
	i, v := len(l.arrays), e.Array.View
	l.index.Add(e.Name, int32(i), l.Name)
	if e.Array.Data == nil || err != nil || e.Renamed != "" || e.Elements != nil || e.Attrs != nil {
		l.others[i] = failing{e, err}
		l.arrays = append(l.arrays, listedArray{name: e.Name})
		return nil
	}
	l.arrays = append(l.arrays, listedArray{name: e.Name, shared: e.Shared, data: e.Array.Data, typ: e.Array.Type, view: len(l.ints), rank: uint16(v.Rank())})
	l.ints = append(append(append(l.ints, v.Offset), v.Shape...), v.Stride...)
	return nil
}

// AddMarkingDuplicates is Add for files that may have a name twice and are right otherwise: of such a
// name there is one entry, which cannot be read, because programs differ in which array they take.
func (l *List) AddMarkingDuplicates(e Entry, err error) {
	if l.Has(e.Name) {
		l.Fail(e.Name, fmt.Errorf("duplicate name: %w", storage.ErrState))
		return
	}
	l.Add(e, err)
}

// Fail makes the named entry one that cannot be read, because of err.
func (l *List) Fail(name string, err error) {
	if i, ok := l.Index(name); ok {
		l.others[i] = failing{Entry{Name: l.arrays[i].name}, err}
	}
}

// Len returns the number of entries.
func (l *List) Len() int { return len(l.arrays) }

// Has reports whether there is an entry of that name.
func (l *List) Has(name string) bool {
	_, ok := l.Index(name)
	return ok
}

// All yields the entries in the order in which they were added.
func (l *List) All() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for i := range l.arrays {
			if !yield(l.At(i)) {
				return
			}
		}
	}
}

// At returns entry i, in the order of All, and the error that comes with it.
func (l *List) At(i int) (Entry, error) {
	if e, ok := l.others[i]; ok {
		return e.Entry, e.err
	}
	a := &l.arrays[i]
	shape := a.view + 1
	strides, end := shape+int(a.rank), shape+2*int(a.rank)
	v := views.View{Offset: l.ints[a.view], Shape: l.ints[shape:strides:strides], Stride: l.ints[strides:end:end]}
	return Entry{Name: a.name, Shared: a.shared, Array: storage.Array{Data: a.data, Type: a.typ, View: v}}, nil
}

// Name returns the name of entry i.
func (l *List) Name(i int) string { return l.arrays[i].name }

// Index returns the place of the named entry in the order of All.
func (l *List) Index(name string) (i int, ok bool) {
	k, ok := l.index.Find(name, l.Name)
	return int(k), ok
}

// Lookup returns the named entry. A name that is not there is an error of kind
// fs.ErrNotExist.
func (l *List) Lookup(name string) (Entry, error) {
	if i, ok := l.Index(name); ok {
		e, err := l.At(i)
		return e, e.Wrap(err)
	}
	names := make([]string, len(l.arrays))
	for i, a := range l.arrays {
		names[i] = a.name
	}
	return Entry{}, Missing(name, names)
}

// names keeps texts in large blocks. A name that a reader has cut out of a header would keep all of
// the header.
type names struct {
	block  strings.Builder
	last   string // text that was kept
	shared bool   // they are most of a text, which is kept
}

// keep returns a copy of a text, the same one if it is asked for again.
func (n *names) keep(text string) string {
	if text == n.last {
		return n.last
	}
	if n.shared {
		n.last = text
		return text
	}
	const block = 32 << 10
	if n.block.Cap()-n.block.Len() < len(text) {
		n.block.Reset()
		n.block.Grow(max(block, len(text)))
	}
	at := n.block.Len()
	n.block.WriteString(text)
	n.last = n.block.String()[at:]
	return n.last
}

// Meta returns a copy of the metadata.
func (l *List) Meta() map[string]string {
	if l.meta == nil {
		return map[string]string{}
	}
	return maps.Clone(l.meta)
}

// Close closes the file.
func (l *List) Close() error { return l.close() }

// Lookup returns the named entry of f: at once if f has a method Lookup, as a [List]
// has, and else after all entries before it were listed. A name that is not there is an
// error of kind fs.ErrNotExist.
func Lookup(f File, name string) (Entry, error) {
	if indexed, ok := f.(interface{ Lookup(string) (Entry, error) }); ok {
		return indexed.Lookup(name)
	}
	var names []string
	for e, err := range f.All() {
		if err != nil || e.Name == name {
			return e, e.Wrap(err)
		}
		names = append(names, e.Name)
	}
	return Entry{}, Missing(name, names)
}

// Missing returns the error, of kind fs.ErrNotExist, about a name that is not among names.
func Missing(name string, names []string) error {
	const shown = 10
	hint, others := spell.Hint(name, names), ""
	if len(names) > shown {
		others = fmt.Sprintf(" and %d others", len(names)-shown+1)
		names = names[:shown-1]
	}
	return errkind.Errorf(fs.ErrNotExist, "no array %q%s; there are %q%s", name, hint, names, others)
}

// Unsupported returns the entry of an array whose elements package dtype has no type for,
// and the error that comes with it: the array can be listed and not read. typ is what the
// file calls the elements.
func Unsupported(name string, shape []int, typ string) (Entry, error) {
	e := Entry{Name: name}
	v, err := views.New(shape, math.MaxInt)
	if err != nil {
		return e, err
	}
	e.Elements = &Elements{View: v, Type: typ}
	return e, fmt.Errorf("elements of type %s are not read; save the array as another type: %w", typ, dtype.ErrType)
}
