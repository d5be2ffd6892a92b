package serialize

import (
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A List is a [File] whose entries are known when it is opened. Formats embed it.
type List struct {
	entries []listed
	index   map[string]int
	meta    map[string]string
	close   func() error
}

// A listed entry comes with an error, which may be nil.
type listed struct {
	Entry
	err error
}

// NewList returns a list with room for n entries. Close calls close once, if it is not nil.
func NewList(n int, meta map[string]string, close func() error) *List {
	if close == nil {
		close = func() error { return nil }
	}
	return &List{entries: make([]listed, 0, n), index: make(map[string]int, n), meta: meta, close: sync.OnceValue(close)}
}

// Add appends an entry, or one that cannot be read: err is then what All yields with it. A name that the list has is an error.
func (l *List) Add(e Entry, err error) error {
	if l.Has(e.Name) {
		return fmt.Errorf("duplicate name %q: %w", e.Name, storage.ErrState)
	}
	l.index[e.Name] = len(l.entries)
	l.entries = append(l.entries, listed{e, err})
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
	if i, ok := l.index[name]; ok {
		l.entries[i] = listed{Entry{Name: name}, err}
	}
}

// Len returns the number of entries.
func (l *List) Len() int { return len(l.entries) }

// Has reports whether there is an entry of that name.
func (l *List) Has(name string) bool {
	_, ok := l.index[name]
	return ok
}

// All yields the entries in the order in which they were added.
func (l *List) All() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, e := range l.entries {
			if !yield(e.Entry, e.err) {
				return
			}
		}
	}
}

// At returns entry i, in the order of All, and the error that comes with it.
func (l *List) At(i int) (Entry, error) { return l.entries[i].Entry, l.entries[i].err }

// Name returns the name of entry i.
func (l *List) Name(i int) string { return l.entries[i].Name }

// Index returns the place of the named entry in the order of All.
func (l *List) Index(name string) (i int, ok bool) {
	i, ok = l.index[name]
	return i, ok
}

// Lookup returns the named entry. A name that is not there is an error of kind
// fs.ErrNotExist.
func (l *List) Lookup(name string) (Entry, error) {
	if i, ok := l.Index(name); ok {
		e, err := l.At(i)
		return e, e.Wrap(err)
	}
	names := make([]string, len(l.entries))
	for i, e := range l.entries {
		names[i] = e.Name
	}
	return Entry{}, Missing(name, names)
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
