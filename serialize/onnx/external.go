package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// externals are the files beside a model that hold its elements. They are in its folder,
// or that of serialize.Options.Follow; no path, and no symbolic link, leads out of it.
type externals struct {
	in     serialize.Input
	folder string // "" if the model is not a file
	root   *os.Root
	files  map[string]*storage.Mapping
	used   map[serialize.Extent][]string // arrays by parts of the files, which are named by these
}

func newExternals(in serialize.Input) *externals {
	x := &externals{in: in, folder: in.Follow, files: map[string]*storage.Mapping{}, used: map[serialize.Extent][]string{}}
	if x.folder == "" && in.File() != nil {
		x.folder = filepath.Dir(in.Name)
	}
	return x
}

func (x *externals) close() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(x.files)) {
		errs = append(errs, x.files[name].Close())
	}
	if x.root != nil {
		errs = append(errs, x.root.Close())
	}
	return errors.Join(errs...)
}

// section returns the size bytes of the named array, at the place that the keys location,
// offset and length name.
func (x *externals) section(name string, where map[string]string, size int64) (storage.Source, error) {
	number := func(key string, otherwise int64) (int64, error) {
		if where[key] == "" {
			return otherwise, nil
		}
		n, err := strconv.ParseInt(where[key], 10, 64)
		if err != nil || n < 0 {
			err = fmt.Errorf("%s of external data is %q", key, where[key])
		}
		return n, err
	}
	offset, err := number("offset", 0)
	if err != nil {
		return nil, err
	}
	length, err := number("length", size)
	if err != nil {
		return nil, err
	}
	if length != size {
		return nil, fmt.Errorf("%d bytes of external data are declared, but the elements take %d: %w", length, size, storage.ErrState)
	}
	m, err := x.open(where["location"])
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	part := serialize.Extent{Name: where["location"], At: offset, Size: length}
	x.used[part] = append(x.used[part], name)
	return m.Range(offset, length)
}

// failOverlapping makes the arrays of a list fail whose parts of a file overlap without being the
// same.
func (x *externals) failOverlapping(list *serialize.List) {
	files := map[string]int{}
	var extents []serialize.Extent
	byPlace := func(a, b serialize.Extent) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.At, b.At), cmp.Compare(a.Size, b.Size))
	}
	for _, part := range slices.SortedFunc(maps.Keys(x.used), byPlace) {
		if _, ok := files[part.Name]; !ok {
			files[part.Name] = len(files)
		}
		for _, name := range x.used[part] {
			extents = append(extents, serialize.Extent{Name: name, File: files[part.Name], At: part.At, Size: part.Size})
		}
	}
	for name, other := range serialize.Overlapping(extents) {
		list.Fail(name, fmt.Errorf("external data: the elements overlap those of %q: %w", other, storage.ErrState))
	}
}

func (x *externals) open(location string) (*storage.Mapping, error) {
	if m := x.files[location]; m != nil {
		return m, nil
	}
	name := filepath.FromSlash(location)
	switch {
	case x.folder == "":
		return nil, fmt.Errorf("%q is beside the model, which is not a file in a folder; Options.Follow names the folder: %w", location, storage.ErrState)
	case strings.ContainsRune(location, 0):
		return nil, fmt.Errorf("%q is no name of a file: %w", location, storage.ErrState)
	case !filepath.IsLocal(name):
		return nil, fmt.Errorf("%q leads out of the folder of the model: %w", location, storage.ErrState)
	}
	if x.root == nil {
		var err error
		if x.root, err = os.OpenRoot(x.folder); err != nil {
			return nil, err
		}
	}
	info, err := x.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%q, which has the elements, is not beside the model: %w", location, fs.ErrNotExist)
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("not a regular file: %w", storage.ErrState)
	}
	if failed := new(fs.PathError); errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", location, err)
	}
	file, err := x.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m, err := storage.Map(file)
	if err == nil {
		x.in.NoteOpened(filepath.Join(x.folder, name))
		x.files[location] = m
	}
	return m, err
}
