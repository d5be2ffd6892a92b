package hdf5test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"
	"github.com/h5dnn/h5dnn/views"
)

// LibraryRead reads a hyperslab of a dataset with libhdf5: count elements along each axis
// from start on, as elements of type t, or as they are stored if t is Invalid. dst must
// have exactly the size of the elements. A hostile file can crash the library.
func LibraryRead(file, dataset string, dst []byte, t dtype.Type, start, count []int) error {
	if !strings.HasPrefix(dataset, "/") || strings.ContainsRune(dataset, 0) {
		return fmt.Errorf("path %q", dataset)
	}
	if len(start) != len(count) {
		return fmt.Errorf("hyperslab from %v with %v elements: %w", start, count, views.ErrShape)
	}
	var as libhdf5.ID
	if t != dtype.Invalid {
		var err error
		if as, err = libhdf5.Type(t); err != nil {
			return err
		}
	}
	f, err := libhdf5.OpenFile(file)
	if err != nil {
		return err
	}
	return errors.Join(f.Read(dataset, as, start, count, dst), f.Close())
}

// Compare reads every numeric dataset of a file with package hdf5 and with libhdf5, and
// calls differs for those that are not the same. It returns the number of datasets that
// were compared, and of those that libhdf5 could not read.
func Compare(name string, differs func(path string)) (compared, unreadable int, err error) {
	f, err := hdf5.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	for o := range f.Walk() {
		if o.Kind != hdf5.KindDataset {
			continue
		}
		d, err := o.Dataset()
		if err != nil || d.DType == dtype.Invalid || d.Layout == "virtual" || d.External != nil {
			continue
		}
		a, err := d.Array()
		if err != nil || a.Rank() != len(d.Shape) || a.Len() > 1<<20 { // elements that are arrays have more axes in package hdf5
			continue
		}
		host, err := a.To(storage.CPU)
		if err != nil {
			return compared, unreadable, err
		}
		got, _ := host.Bytes() // contiguous, as To returns it
		want := make([]byte, len(got))
		if err := LibraryRead(name, o.Path, want, a.Type, make([]int, a.Rank()), a.Shape); err != nil {
			unreadable++ // this libhdf5 lacks a filter or a type
			continue
		}
		compared++
		if !bytes.Equal(got, want) {
			differs(o.Path)
		}
	}
	return compared, unreadable, nil
}
