package serialize

import (
	"cmp"
	"fmt"
	"iter"

	"github.com/h5dnn/h5dnn/storage"
)

// A Collection has the entries that are to be saved by number. It makes them when they are asked
// for, if [Contents] can, so that a format keeps little of each.
type Collection struct {
	n   int
	at  func(i int) (Entry, error)
	err error
}

// Len returns the number of entries.
func (c *Collection) Len() int { return c.n }

// At returns entry i. If it cannot be made again, it is an empty array, and Err returns why.
func (c *Collection) At(i int) Entry {
	e, err := c.at(i)
	if err != nil {
		c.err = cmp.Or(c.err, e.Wrap(err))
		e.Elements, e.Array = nil, storage.From([]uint8{}, 0)
	}
	return e
}

// All yields the entries in order.
func (c *Collection) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range c.n {
			if !yield(c.At(i)) {
				return
			}
		}
	}
}

// Err returns the first error of At. What was saved is wrong if there is one.
func (c *Collection) Err() error { return c.err }

// Checked yields the entries of contents that are to be saved in the format. It ends with the
// first error, with the name of its entry: that of metadata that do not fit, of an entry, of
// Check, or of a name that is used twice.
func (f Format) Checked(c Contents) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		names := map[string]struct{}{}
		used := func(name string) bool { _, ok := names[name]; return ok }
		for e, err := range f.checked(c, used) {
			names[e.Name] = struct{}{}
			if !yield(e, err) {
				return
			}
		}
	}
}

// checked is Checked with the function that reports whether a name is used.
func (f Format) checked(c Contents, used func(name string) bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := f.checkMeta(c.Meta); err != nil {
			yield(Entry{}, err)
			return
		}
		for e, err := range c.Entries {
			if err == nil {
				err = f.Check(e)
			}
			if err == nil && used(e.Name) {
				err = fmt.Errorf("the name is used twice: %w", storage.ErrState)
			}
			if !yield(e, e.Wrap(err)) || err != nil {
				return
			}
		}
	}
}

// Collect returns the entries that Checked yields, or the first error.
func (f Format) Collect(c Contents) (*Collection, error) {
	if c.At != nil {
		n := 0
		for _, err := range f.Checked(c) {
			if err != nil {
				return nil, err
			}
			n++
		}
		return &Collection{n: n, at: c.At}, nil
	}
	list := NewList(0, nil, func() error { return nil })
	for e, err := range f.checked(c, list.Has) {
		if err != nil {
			return nil, err
		}
		list.Add(e, nil) // its name is new
	}
	return &Collection{n: list.Len(), at: list.At}, nil
}
