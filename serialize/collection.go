package serialize

import (
	"fmt"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
)

// Checked yields the entries of contents that are to be saved in the format. It ends with the
// first error, with the name of its entry: that of metadata that do not fit, of an entry, of
// Check, or of a name that is used twice.
func (f Format) Checked(c Contents) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := f.checkMeta(c.Meta); err != nil {
			yield(Entry{}, err)
			return
		}
		names := map[string]bool{}
		for e, err := range c.Entries {
			if err == nil {
				err = f.Check(e)
			}
			if err == nil && names[e.Name] {
				err = fmt.Errorf("the name is used twice: %w", storage.ErrState)
			}
			names[e.Name] = true
			if !yield(e, e.Wrap(err)) || err != nil {
				return
			}
		}
	}
}

// Collect returns the entries that Checked yields, or the first error.
func (f Format) Collect(c Contents) (list []Entry, err error) {
	for e, err := range f.Checked(c) {
		if err != nil {
			return nil, err
		}
		if len(list) == cap(list) {
			list = slices.Grow(list, max(16, len(list))) // append alone leaves five times the list as garbage
		}
		list = append(list, e)
	}
	return list, nil
}
