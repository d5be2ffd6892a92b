package views

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// A Selection is the elements that an index expression selects: the elements of a view or, with lists,
// which no view has, of a view at each of several offsets.
type Selection struct {
	View          // of all elements, or of those at one index of the lists
	Offsets []int // that are added to View.Offset; nil if there are no lists
	Axis    int   // of the result that the offsets are along
}

// Size returns the shape of the selected elements.
func (s Selection) Size() []int {
	if s.Offsets == nil {
		return s.Shape
	}
	return slices.Insert(slices.Clone(s.Shape), s.Axis, len(s.Offsets))
}

// Runs divides a box of the elements of s, which has offsets, into views in ascending order of these,
// of as many as are equally far apart. It yields the part of to, a view of the box's shape, that
// corresponds to each, and the view itself.
func (s Selection) Runs(b Box, to View) iter.Seq2[View, View] {
	at := make([]int, b.Count[s.Axis]) // indices along the axis, by offset
	for k := range at {
		at[k] = k
	}
	offset := func(k int) int { return s.Offsets[b.Start[s.Axis]+k*b.Step[s.Axis]] }
	slices.SortStableFunc(at, func(j, k int) int { return cmp.Compare(offset(j), offset(k)) })
	rest := Box{without(b.Start, s.Axis), without(b.Count, s.Axis), without(b.Step, s.Axis)}.Of(s.View)
	return func(yield func(to, from View) bool) {
		for first := 0; first < len(at); {
			end, step, gap := first+1, 0, 0
			if end < len(at) {
				step, gap = at[end]-at[first], offset(at[end])-offset(at[first])
			}
			for end < len(at) && at[end]-at[end-1] == step && offset(at[end])-offset(at[end-1]) == gap {
				end++
			}
			from := rest.with(s.Axis, end-first, gap)
			from.Offset += offset(at[first])
			into := to.clone()
			into.Shape[s.Axis] = end - first
			into.Offset += at[first] * to.Stride[s.Axis]
			into.Stride[s.Axis] *= step
			if !yield(into, from) {
				return
			}
			first = end
		}
	}
}

func without(list []int, k int) []int { return slices.Delete(slices.Clone(list), k, k+1) }

// Select returns the elements of v that x selects, with lists and masks as NumPy: the lists, and
// the integers beside them, are broadcast together, and their common axis replaces theirs if
// these are neighbours in x, or else comes first. names, which may be nil, finds masks and
// coordinates.
func (x Index) Select(v View, names Names) (Selection, error) {
	if x.has(coordItem) {
		return x.selectCoordinates(v, names)
	}
	y, err := x.withLists(v, names)
	switch {
	case err != nil:
		return Selection{}, fmt.Errorf("index %v: %w", x, err)
	case !y.has(listItem):
		w, err := y.Of(v)
		return Selection{View: w}, err
	}
	s, err := y.selectLists(v)
	if err != nil {
		return Selection{}, fmt.Errorf("index %v: %w", x, err)
	}
	return s, nil
}

// withLists returns x with the lists that its masks stand for. A mask after ... has one axis.
func (x Index) withLists(v View, names Names) (Index, error) {
	var y Index
	axis := 0
	for k, i := range x {
		switch i.kind {
		case maskItem:
			if names == nil {
				return nil, fmt.Errorf("masks and lists by path need a file: %w", ErrShape)
			}
			if axis >= v.Rank() {
				return nil, fmt.Errorf("no axis is left for @%s: %w", i.path, ErrShape)
			}
			lists, err := names.Mask(i.path, v.Shape[axis:])
			if err != nil {
				return nil, err
			}
			for _, list := range lists {
				y = append(y, item{kind: listItem, list: list})
			}
			axis += len(lists)
			continue
		case ellipsis:
			rest := x[k+1:].axes()
			axis = max(axis, v.Rank()-rest)
		case rangeItem, intItem, listItem:
			axis++
		}
		y = append(y, i)
	}
	return y, nil
}

// selectLists is Select for an expression of ranges, integers and lists.
func (x Index) selectLists(v View) (Selection, error) {
	left := v.Rank() - x.axes()
	if left < 0 {
		return Selection{}, fmt.Errorf("%d axes, shape %v has %d: %w", x.axes(), v.Shape, v.Rank(), ErrShape)
	}
	basic := slices.Clone(x) // with all elements of the axes that integers and lists index
	for k, i := range x {
		if i.kind == intItem || i.kind == listItem {
			basic[k] = item{kind: rangeItem, step: 1}
		}
	}
	w, err := basic.Of(v)
	if err != nil {
		return Selection{}, err
	}
	s := Selection{Offsets: []int{0}, Axis: -1}
	var axes []int // of w that integers and lists index
	axis, apart, n := 0, false, -1
	for k, i := range x {
		switch i.kind {
		case ellipsis:
			axis += left
		case rangeItem, newAxis:
			axis++
		default:
			list := i.list
			if i.kind == intItem {
				list = []int{i.start}
			}
			if s.Offsets, err = addOffsets(s.Offsets, list, axis, w); err != nil {
				return Selection{}, err
			}
			if n < 0 {
				s.Axis = axis
			}
			apart = apart || n >= 0 && n != k-1
			axes, axis, n = append(axes, axis), axis+1, k
		}
	}
	if apart {
		s.Axis = 0
	}
	s.View = w.without(axes...)
	return s, nil
}

// addOffsets adds the offsets of the elements that a list selects along an axis of v to offsets,
// broadcast together.
func addOffsets(offsets, list []int, axis int, v View) ([]int, error) {
	n := len(list)
	switch {
	case n == 1:
		n = len(offsets)
	case len(offsets) != 1 && len(offsets) != n:
		return nil, fmt.Errorf("lists of %d and %d elements; want equally many, or one: %w", len(offsets), n, ErrShape)
	}
	sums := make([]int, n)
	for k := range sums {
		at, err := element(list[min(k, len(list)-1)], axis, v.Shape[axis])
		if err != nil {
			return nil, err
		}
		sums[k] = offsets[min(k, len(offsets)-1)] + at*v.Stride[axis]
	}
	return sums, nil
}

// selectCoordinates is Select for an expression of names of dimensions. Each indexes its axis,
// whatever the others do.
func (x Index) selectCoordinates(v View, names Names) (Selection, error) {
	if names == nil {
		return Selection{}, fmt.Errorf("index %v: names of dimensions need a file: %w", x, ErrShape)
	}
	found := slices.Repeat(Index{{kind: rangeItem, step: 1}}, v.Rank())
	var list item // of an axis whose coordinates are not in order
	at := -1
	for _, i := range x {
		axis, indices, single, err := names.Coordinates(i.coordinates)
		if err != nil {
			return Selection{}, fmt.Errorf("index %v: %w", x, err)
		}
		if single {
			found[axis] = item{kind: intItem, start: indices[0]}
			continue
		}
		indices = everyNth(indices, i.coordinates.Step)
		if steps, ok := rangeOf(indices); ok {
			found[axis] = steps
		} else if at >= 0 {
			return Selection{}, fmt.Errorf("index %v: coordinates of two axes are not in order; select one at a time: %w", x, ErrShape)
		} else {
			at, list = axis, item{kind: listItem, list: indices}
		}
	}
	w, err := found.Of(v)
	if err != nil || at < 0 {
		return Selection{View: w}, err
	}
	for _, i := range found[:at] {
		if i.kind == intItem {
			at--
		}
	}
	return append(slices.Repeat(Index{{kind: rangeItem, step: 1}}, at), list).selectLists(w)
}

func everyNth(list []int, n int) []int {
	var some []int
	for k := 0; k < len(list); k += n {
		some = append(some, list[k])
		if n > len(list) {
			break
		}
	}
	return some
}

// rangeOf returns the range that has the indices of a list, if they are equally far apart and
// ascend.
func rangeOf(list []int) (item, bool) {
	i := item{kind: rangeItem, step: 1, hasStart: true, hasStop: true}
	if len(list) == 0 {
		return i, true
	}
	if len(list) > 1 {
		i.step = list[1] - list[0]
	}
	for k := 1; k < len(list); k++ {
		if list[k]-list[k-1] != i.step || i.step <= 0 {
			return i, false
		}
	}
	i.start, i.stop = list[0], list[len(list)-1]+1
	return i, true
}
