// Package datafiles finds data in files of any format: by path, member and index
// expression, and as the samples that package dataconfig configures.
package datafiles

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
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// Files are open files by name, closed together.
type Files struct {
	open   func(name string) (inspect.File, error)
	opened map[string]inspect.File
}

var _ dataconfig.Files = Files{}

// New returns Files that open each file when it is first used.
func New(open func(name string) (inspect.File, error)) Files {
	return Files{open, map[string]inspect.File{}}
}

// Of returns the Files whose only file is open already.
func Of(file inspect.File) Files {
	only := func(string) (inspect.File, error) { return file, nil }
	return Files{only, map[string]inspect.File{}}
}

// Close closes the files.
func (f Files) Close() (err error) {
	for _, file := range f.opened {
		err = errors.Join(err, file.Close())
	}
	return err
}

// File returns the named file.
func (f Files) File(name string) (inspect.File, error) {
	if file, ok := f.opened[name]; ok {
		return file, nil
	}
	file, err := f.open(name)
	if err == nil {
		f.opened[name] = file
	}
	return file, err
}

// Glob implements dataconfig.Files.
func (f Files) Glob(pattern string) ([]string, error) { return Glob(pattern) }

// Glob lists the files that a pattern names, demo_2 before demo_10. A file with exactly that
// name takes precedence over a pattern. See [storage.GlobURLs] for URLs.
func Glob(pattern string) ([]string, error) {
	if storage.IsURL(pattern) {
		names, err := storage.GlobURLs(context.Background(), pattern)
		slices.SortFunc(names, hdf5.CompareNames)
		return names, err
	}
	if _, err := os.Stat(pattern); err == nil || !strings.ContainsAny(pattern, "*?[") {
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
func (f Files) List(name, group string) ([]string, error) {
	file, err := f.File(name)
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
func (f Files) Find(name, path string) (dataconfig.Found, error) {
	file, err := f.File(name)
	if err != nil {
		return dataconfig.Found{}, err
	}
	data, err := FindLabels(file, path)
	if err != nil {
		return dataconfig.Found{}, err
	}
	found, err := Found(data, name+": "+path)
	if err == nil {
		found.Packed = Packed(file, path)
	}
	return found, err
}

// packing are the attributes by which the CF conventions say what stored numbers stand for, and
// which are missing.
var packing = []string{"scale_factor", "add_offset", "_FillValue", "missing_value"}

// Packed returns the attributes of an array of a plain HDF5 file that say what its numbers stand for. Where the file
// is read as NetCDF they are applied, and not returned.
func Packed(file inspect.File, path string) (names []string) {
	h5, ok := file.(inspect.HDF5)
	if !ok || h5.Format() != "hdf5" {
		return nil
	}
	path, _ = views.CutIndex(path)
	o, err := h5.Lookup(path)
	if err != nil {
		return nil // such as a member of a compound type
	}
	all, _ := o.Attributes() // those that can be read
	for _, a := range all {
		if slices.Contains(packing, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Found returns data as package dataconfig takes it. Errors give it that name.
func Found(data inspect.Selection, name string) (dataconfig.Found, error) {
	switch {
	case data.Numbers():
		return dataconfig.Found{Array: data.Array, Names: data.Names, Values: data.NameValues}, nil
	case data.Texts():
		return dataconfig.Found{Texts: data.Strings}, nil
	case data.Rows == nil && len(data.Elements.Fields) > 0 && !strings.HasSuffix(name, "]"): // members of members are not read
		return dataconfig.Found{}, errkind.Errorf(dtype.ErrType, "%s has elements of type %s; name a member, as in %s['%s']", name, data.Type(), data.Name, data.Elements.Fields[0].Name)
	case data.Rows == nil:
		return dataconfig.Found{}, errkind.Errorf(dtype.ErrType, "%s has elements of type %s; want numbers", name, data.Type())
	}
	rows, err := data.Rows()
	switch {
	case errors.Is(err, dtype.ErrType):
		return dataconfig.Found{}, errkind.Errorf(dtype.ErrType, "%s has %s elements that are not numeric rows; want numbers", name, data.Type())
	case err != nil:
		return dataconfig.Found{}, err
	case rows.Rows != data.View().Len() || data.View().Offset != 0 || !data.View().Contiguous():
		return dataconfig.Found{}, errkind.Errorf(views.ErrShape, "%s: rows of different lengths cannot be sliced; select them with rows", name)
	}
	return dataconfig.Found{Ragged: ragged(rows, name)}, nil
}

// heapBlock is the approximate number of bytes of variable-length rows that are read
// together. HDF5 stores them in heaps of a few KiB, mostly in order.
const heapBlock = 64 << 10

func ragged(rows *hdf5.Sequences, name string) *dataset.Ragged {
	return &dataset.Ragged{
		Name: name, Rows: rows.Rows, Type: rows.Type, ElementShape: rows.Shape, MaxLength: rows.MaxLen,
		ChunkRows: max(1, heapBlock/max(1, rows.MaxLen*rows.Type.Size())), Read: rows.Read, Lengths: rows.Lengths,
	}
}

// Attribute implements dataconfig.Files.
func (f Files) Attribute(name, path, attribute string) ([]any, error) {
	file, err := f.File(name)
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
