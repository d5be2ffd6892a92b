package dataconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// ErrUnlisted is the kind of error of an array whose path has no name of a list of episodes.
var ErrUnlisted = errors.New("no name in the path of the array is in this list of strings")

// Marked returns the indices along the first axes of a shape, that of the array at a path, which a
// filter selects: PATH of a mask of any number of axes, or of a list of indices in any order; a
// comparison of the elements of an array, such as PATH==VALUE; or all rows if PATH is a list of
// episodes, strings of which one is a name in the path of the array. If none is, the error is
// ErrUnlisted.
func Marked(files Files, file, array, text string, shape []int) (indices [][]int, err error) {
	f, err := parseFilter(text)
	if err != nil {
		return nil, err
	}
	found, err := files.Find(file, string(f.path))
	if err != nil {
		return nil, err
	}
	if indices, err = f.marked(found, array, shape); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return indices, nil
}

// marked returns the indices that f selects with what was found at its path.
func (f filter) marked(found Found, array string, shape []int) ([][]int, error) {
	a := found.Array
	if f.op == "" && found.Texts != nil {
		episodes, err := found.Texts()
		named := slices.ContainsFunc(strings.Split(array, "/"), func(step string) bool { return step != "" && slices.Contains(episodes, step) })
		if err == nil && !named {
			err = fmt.Errorf("%w; compare strings of rows, as in %s==val", ErrUnlisted, f.path)
		}
		return [][]int{allRows(shape[0])}, err
	}
	if f.op == "" && a.Data != nil && a.Rank() == 1 && a.Type.IsInt() && a.Type != dtype.Bool {
		elems, err := storage.Read[int64](a)
		list := make([]int, len(elems))
		for k, elem := range elems {
			list[k] = int(elem)
		}
		return [][]int{list}, err
	}
	n := shape[:1] // the axes of the mask
	if found.Texts == nil && a.Data != nil && a.Rank() > 1 {
		if a.Rank() > len(shape) || !slices.Equal(a.Shape, shape[:a.Rank()]) {
			return nil, fmt.Errorf("a mask of shape %v for axes of %v: %w", a.Shape, shape, views.ErrShape)
		}
		n = a.Shape
		flat, err := a.View.Reshape(-1)
		if err != nil {
			return nil, err
		}
		found.Array = a.With(flat)
	}
	rows, err := f.pick(found, rowsOf(views.Of(n...).Len()))
	if err != nil {
		return nil, err
	}
	indices := make([][]int, len(n))
	for axis, stride := range views.Of(n...).Stride {
		indices[axis] = make([]int, len(rows))
		for k, row := range rows {
			indices[axis][k] = row / stride % n[axis]
		}
	}
	return indices, nil
}

// rowsOf returns a part of n rows.
func rowsOf(n int) *part {
	return &part{fields: []field{{NamedArray: dataset.NamedArray{Array: storage.Array{View: views.Of(n)}}}}}
}

// Expand returns the paths of a file that match one with stars, with the stars of its index
// expression replaced by what the first ones match: /data/*/obs[@mask/*].
func Expand(files Files, file, path string) ([]string, error) {
	w := wildcard(path)
	matches, err := w.in(files, file)
	if err != nil {
		return nil, err
	}
	_, expr := w.split()
	var paths []string
	for _, m := range matches {
		given, err := wildcard(expr).with(m)
		if err != nil {
			return nil, err
		}
		paths = append(paths, m.path[:len(m.path)-len(expr)]+given)
	}
	return paths, nil
}
