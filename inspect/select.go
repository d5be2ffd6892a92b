package inspect

import (
	"github.com/h5dnn/h5dnn/views"
)

// Select returns the elements of s that an index expression selects; names, which may be nil, finds
// what it names. Without lists they are a view, and with lists they are read when they are needed.
func (s Selection) Select(x views.Index, names views.Names) (Selection, error) {
	chosen, err := x.Select(s.View(), names)
	switch {
	case err != nil:
		return s, err
	case chosen.Offsets == nil:
		return s.With(chosen.View), nil
	case s.Numbers():
		s.Array, err = s.Array.Selected(chosen)
		return s, err
	}
	shape, whole := chosen.Size(), s.Elements.Values
	s = s.With(views.Of(shape...))
	s.Rows = nil
	s.Elements.Values = func(v views.View) ([]any, error) {
		values := make([]any, v.Len())
		for part, box := range views.Boxes(v, views.Of(v.Shape...), shape) {
			for to, from := range chosen.Runs(box, part) {
				some, err := whole(from)
				if err != nil {
					return nil, err
				}
				k := 0
				for position := range to.Positions() {
					values[position] = some[k]
					k++
				}
			}
		}
		return values, nil
	}
	return s, nil
}
