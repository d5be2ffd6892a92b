package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	loader "github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// files are open files by name, closed together.
type files struct {
	ctx  context.Context // of the command that reads them
	open map[string]inspect.File
}

var _ dataconfig.Files = files{}

func newFiles(ctx context.Context) files { return files{ctx, map[string]inspect.File{}} }

func (f files) Close() {
	for _, file := range f.open {
		file.Close()
	}
}

func (f files) file(name string) (inspect.File, error) {
	if file, ok := f.open[name]; ok {
		return file, nil
	}
	file, err := open(f.ctx, name)
	if err == nil {
		f.open[name] = file
	}
	return file, err
}

// Glob implements dataconfig.Files. A file with exactly that name takes precedence over a pattern.
func (f files) Glob(pattern string) ([]string, error) {
	if exists(pattern) || // also a URL, which may have a question mark
		!strings.ContainsAny(pattern, "*?[") {
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
func (f files) List(name, group string) ([]string, error) {
	file, err := f.file(name)
	if err != nil {
		return nil, err
	}
	entries, err := file.Entries(group)
	if err != nil {
		return nil, err
	}
	var paths []string
	for e := range entries {
		if e.Data != nil {
			paths = append(paths, e.Path)
		}
	}
	slices.SortFunc(paths, hdf5.CompareNames)
	return paths, nil
}

// Find implements dataconfig.Files.
func (f files) Find(name, path string) (dataconfig.Found, error) {
	file, err := f.file(name)
	if err != nil {
		return dataconfig.Found{}, err
	}
	data, err := findLabels(file, address{name, path})
	if err != nil {
		return dataconfig.Found{}, err
	}
	return foundIn(data, name+": "+path)
}

// findLabels is find, with the names of a categorical column.
func findLabels(file inspect.File, at address) (inspect.Selection, error) {
	h5, ok := file.(inspect.HDF5)
	if !ok {
		return find(file, at)
	}
	path, expr := views.CutIndex(at.path)
	codes, ok, err := h5.Categorical(path)
	if err != nil {
		return codes, err
	}
	if !ok {
		return find(file, at)
	}
	if expr == "" {
		return codes, nil
	}
	return sliceOf(file, codes, path, expr)
}

// foundIn returns data as package train takes it.
func foundIn(data inspect.Selection, name string) (dataconfig.Found, error) {
	switch {
	case data.Numbers():
		return dataconfig.Found{Array: data.Array, Names: data.Names, Values: data.NameValues}, nil
	case data.Texts():
		return dataconfig.Found{Texts: data.Strings}, nil
	case data.Rows == nil:
		return dataconfig.Found{}, fmt.Errorf("%s has elements of type %s; want numbers", name, data.Type())
	}
	rows, err := data.Rows()
	switch {
	case errors.Is(err, dtype.ErrType):
		return dataconfig.Found{}, fmt.Errorf("%s has %s elements that are not numeric rows; want numbers", name, data.Type())
	case err != nil:
		return dataconfig.Found{}, err
	case rows.Rows != data.View().Len() || data.View().Offset != 0 || !data.View().Contiguous():
		return dataconfig.Found{}, fmt.Errorf("%s: rows of different lengths cannot be sliced; select them with --rows", name)
	}
	return dataconfig.Found{Ragged: ragged(rows, name)}, nil
}

// heapBlock is the approximate number of bytes of variable-length rows that are read
// together. HDF5 stores them in heaps of a few KiB, mostly in order.
const heapBlock = 64 << 10

func ragged(rows *hdf5.Sequences, name string) *loader.Ragged {
	return &loader.Ragged{
		Name: name, Rows: rows.Rows, Type: rows.Type, ElementShape: rows.Shape, MaxLength: rows.MaxLen,
		ChunkRows: max(1, heapBlock/max(1, rows.MaxLen*rows.Type.Size())), Read: rows.Read, Lengths: rows.Lengths,
	}
}

// Attribute implements dataconfig.Files.
func (f files) Attribute(name, path, attribute string) ([]any, error) {
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
