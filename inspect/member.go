package inspect

import (
	"fmt"
	"slices"

	h5format "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// Member returns a member of a dataset of compounds or, by more than one name, a member
// of a member.
func (f HDF5) Member(path string, names ...string) (Selection, error) {
	o, err := f.Lookup(path)
	if err != nil {
		return Selection{}, err
	}
	d, err := o.Dataset()
	if err != nil {
		return Selection{}, err
	}
	s, err := f.selectAll(d.Path, d)
	if err != nil {
		return s, err
	}
	if s.Numbers() { // complex numbers
		s.Elements = h5format.ElementsOf(d)
	}
	t := d.Type
	for _, name := range names {
		var known []string
		for _, m := range t.Members {
			known = append(known, m.Name)
		}
		k := slices.Index(known, name)
		if k < 0 {
			return s, fmt.Errorf("%s: %s has no member %q%s", f.Name(), d.Path, name, spell.Hint(name, known))
		}
		t = t.Members[k].Type
	}
	s.Name = names[len(names)-1]
	if len(names) == 1 {
		if _, _, err := t.DType(); err == nil {
			a, err := d.Member(names[0])
			s.Array, s.Elements = a, nil
			s.Names, s.NameValues = t.EnumMembers()
			return s, err
		}
	}
	s.Rows = nil
	whole := s.Elements.Values
	s.Elements.Type, s.Elements.Fields = h5format.TypeName(t), h5format.Fields(t)
	s.Elements.Values = func(v views.View) ([]any, error) {
		values, err := whole(v)
		for i := range values {
			for _, name := range names {
				record, ok := values[i].(hdf5.Record)
				if !ok {
					return nil, fmt.Errorf("%s: %s: an element is no compound", f.Name(), d.Path)
				}
				values[i] = record.Values[slices.Index(record.Names, name)]
			}
		}
		return values, err
	}
	return s, nil
}
