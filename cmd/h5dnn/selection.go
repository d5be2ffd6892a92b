package main

import (
	"context"
	"fmt"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/views"
)

// names finds the masks and coordinates that an index expression of an array names in its file.
type names struct {
	file inspect.File
	path string // of the array
}

var _ views.Names = names{}

// Mask implements views.Names.
func (n names) Mask(path string, shape []int) ([][]int, error) {
	name := n.file.Name()
	return dataconfig.Marked(files{context.Background(), map[string]inspect.File{name: n.file}}, name, n.path, path, shape)
}

// Coordinates implements views.Names.
func (n names) Coordinates(r views.CoordinateRange) (axis int, indices []int, single bool, err error) {
	h5, ok := n.file.(inspect.HDF5)
	if !ok {
		return 0, nil, false, fmt.Errorf("%s files have no coordinates; select by position: %w", n.file.Format(), views.ErrShape)
	}
	return h5.Coordinates(n.path, r)
}

// sliceOf returns the part of data, found at a path of a file, that an index expression selects.
func sliceOf(file inspect.File, data inspect.Selection, path, expr string) (inspect.Selection, error) {
	index, err := views.Parse(expr)
	if err != nil {
		return data, err
	}
	part, err := data.Select(index, names{file, path})
	if err != nil {
		return data, fmt.Errorf("%s: %s: %w", file.Name(), path, err)
	}
	return part, nil
}
