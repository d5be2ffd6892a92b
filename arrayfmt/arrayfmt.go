// Package arrayfmt formats arrays as text: as NumPy prints them, and as JSON.
//
// Of a large array only the corners that are shown are read.
package arrayfmt

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Format returns a as NumPy prints it, with lines of at most width characters.
func Format(a storage.Array, width int) (string, error) {
	shown, err := shownShape(a.Shape)
	if err != nil {
		return "", err
	}
	elems := make([]byte, views.Of(shown...).Len()*a.Type.Size())
	err = corners(views.Of(shown...), a.View, 0, func(dst, src views.View) error {
		part, err := blocks.Read(a.With(src))
		if err != nil {
			return err
		}
		storage.Scatter(elems, part, a.Type, dst)
		return nil
	})
	if err != nil {
		return "", err
	}
	cells := Cells(a.Type, elems)
	if len(a.Shape) > 0 {
		cells = aligned(a.Type, elems)
	} else if a.Type.String() == "bool" {
		titled(cells)
	}
	return page{a.Shape, shown, cells, width}.String(), nil
}

// FormatTexts is Format for elements that are not numbers. The function read returns
// the text of each element that its argument selects.
func FormatTexts(v views.View, width int, read func(views.View) ([]string, error)) (string, error) {
	shown, err := shownShape(v.Shape)
	if err != nil {
		return "", err
	}
	cells := make([]string, views.Of(shown...).Len())
	err = corners(views.Of(shown...), v, 0, func(dst, src views.View) error {
		part, err := read(src)
		if err != nil {
			return err
		}
		for to := range dst.Positions() {
			cells[to], part = part[0], part[1:]
		}
		return nil
	})
	return page{v.Shape, shown, cells, width}.String(), err
}

// shownShape returns how many elements of each axis are shown: all, or both
// ends if the array is large.
func shownShape(shape []int) ([]int, error) {
	shown, n := slices.Clone(shape), 1
	if slices.Contains(shape, 0) {
		return shown, nil
	}
	for _, size := range shape {
		if n *= size; n > showAll {
			break
		}
	}
	if n <= showAll {
		return shown, nil
	}
	n = 1
	for axis, size := range shape {
		shown[axis] = min(size, 2*showEdge)
		if n *= shown[axis]; n > 100*showAll {
			return nil, fmt.Errorf("shape %v has too many axes to show; select some with an expression, as in [0, 0]", shape)
		}
	}
	return shown, nil
}

// corners calls visit for every corner of src and the place in dst where it is
// shown: along an axis that dst has less of, for its two ends.
func corners(dst, src views.View, axis int, visit func(dst, src views.View) error) error {
	if axis == dst.Rank() {
		return visit(dst, src)
	}
	shown, size := dst.Shape[axis], src.Shape[axis]
	if shown == size {
		return corners(dst, src, axis+1, visit)
	}
	err := corners(dst.Narrow(axis, 0, showEdge), src.Narrow(axis, 0, showEdge), axis+1, visit)
	if err != nil {
		return err
	}
	return corners(dst.Narrow(axis, showEdge, shown), src.Narrow(axis, size-showEdge, size), axis+1, visit)
}
