package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// A sampleFiles is the open files of samples, by name.
type sampleFiles struct {
	ctx    context.Context // ends long reads
	format string          // of all files; by content if empty
	open   map[string]inspect.File
}

var _ dataconfig.Files = sampleFiles{}

func (f sampleFiles) Close() (err error) {
	for _, file := range f.open {
		err = errors.Join(err, file.Close())
	}
	return err
}

func (f sampleFiles) file(name string) (inspect.File, error) {
	if file, ok := f.open[name]; ok {
		return file, nil
	}
	file, err := inspect.Open(name, serialize.Options{Context: f.ctx, Format: f.format})
	if err == nil {
		f.open[name] = file
	}
	return file, err
}

// Glob implements dataconfig.Files. A file with exactly that name takes precedence over a pattern.
func (f sampleFiles) Glob(pattern string) ([]string, error) {
	_, err := os.Stat(pattern)
	if err == nil || storage.IsURL(pattern) || !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}, nil
	}
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no file matches", pattern)
	}
	slices.SortFunc(names, hdf5.CompareNames)
	return names, nil
}

// List implements dataconfig.Files.
func (f sampleFiles) List(name, group string) ([]string, error) {
	file, err := f.file(name)
	if err != nil {
		return nil, err
	}
	objects, err := file.Entries(group)
	if err != nil {
		return nil, err
	}
	var paths []string
	for o := range objects {
		if o.Data != nil {
			paths = append(paths, o.Path)
		}
	}
	slices.SortFunc(paths, hdf5.CompareNames)
	return paths, nil
}

// Find implements dataconfig.Files.
func (f sampleFiles) Find(name, path string) (dataconfig.Found, error) {
	file, err := f.file(name)
	if err != nil {
		return dataconfig.Found{}, err
	}
	path, index := views.CutIndex(path)
	s, err := labelsOrData(file, path)
	if err == nil && index != "" {
		s, err = f.slice(file, s, path, index)
	}
	if err != nil {
		return dataconfig.Found{}, err
	}
	return found(s, name+": "+path+index)
}

// labelsOrData returns the data at a path: of a categorical column, its codes with the names.
func labelsOrData(file inspect.File, path string) (inspect.Selection, error) {
	if h5, ok := file.(inspect.HDF5); ok {
		if codes, categorical, err := h5.Categorical(path); categorical || err != nil {
			return codes, err
		}
	}
	return file.Find(path)
}

// slice returns what an index expression selects; it may name masks and coordinates of the file.
func (f sampleFiles) slice(file inspect.File, s inspect.Selection, path, index string) (inspect.Selection, error) {
	x, err := views.Parse(index)
	if err != nil {
		return s, err
	}
	return s.Select(x, names{f, file, path})
}

// A names finds the masks and coordinates that an index expression of an array names in its file.
type names struct {
	files sampleFiles
	file  inspect.File
	path  string // of the array
}

// Mask implements views.Names.
func (n names) Mask(path string, shape []int) ([][]int, error) {
	return dataconfig.Marked(n.files, n.file.Name(), n.path, path, shape)
}

// Coordinates implements views.Names.
func (n names) Coordinates(r views.CoordinateRange) (axis int, indices []int, single bool, err error) {
	h5, ok := n.file.(inspect.HDF5)
	if !ok {
		return 0, nil, false, fmt.Errorf("%s: axes of %s files have no coordinates: %w", n.file.Name(), n.file.Format(), views.ErrShape)
	}
	return h5.Coordinates(n.path, r)
}

// found returns a selection as package dataconfig takes it.
func found(s inspect.Selection, name string) (dataconfig.Found, error) {
	switch {
	case s.Numbers():
		return dataconfig.Found{Array: s.Array, Names: s.Names, Values: s.NameValues}, nil
	case s.Texts():
		return dataconfig.Found{Texts: s.Strings}, nil
	case s.Rows == nil:
		return dataconfig.Found{}, fmt.Errorf("%s has elements of type %s; want numbers: %w", name, s.Type(), dtype.ErrType)
	}
	rows, err := s.Rows()
	if err == nil && (rows.Rows != s.View().Len() || s.View().Offset != 0 || !s.View().Contiguous()) {
		err = fmt.Errorf("%s: rows of different lengths cannot be sliced; select them with rows: %w", name, views.ErrShape)
	}
	if err != nil {
		return dataconfig.Found{}, err
	}
	return dataconfig.Found{Ragged: &dataset.Ragged{
		Name: name, Rows: rows.Rows, Type: rows.Type, ElementShape: rows.Shape, MaxLength: rows.MaxLen,
		ChunkRows: max(1, heapBlock/max(1, rows.MaxLen*rows.Type.Size())), Read: rows.Read, Lengths: rows.Lengths,
	}}, nil
}

// heapBlock is the approximate number of bytes of variable-length rows that are read
// together. HDF5 stores them in heaps of a few KiB, mostly in order.
const heapBlock = 64 << 10

// Attribute implements dataconfig.Files.
func (f sampleFiles) Attribute(name, path, attribute string) ([]any, error) {
	file, err := f.file(name)
	if err != nil {
		return nil, err
	}
	h5, ok := file.(inspect.HDF5)
	if !ok {
		return nil, fmt.Errorf("%s: %s files have no attributes; split with mask:PATH", name, file.Format())
	}
	path, _ = views.CutIndex(path)
	o, err := h5.Lookup(path)
	if err != nil {
		return nil, err
	}
	all, err := o.Attributes()
	for _, a := range all {
		if a.Name == attribute {
			return a.Values()
		}
	}
	return nil, err
}
