package hdf5

import (
	"errors"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// openInput opens a file, which is mapped, or anything else that can be read at any
// offset. close also closes the file of in.
func openInput(in serialize.Input) (f *hdf5.File, close func() error, err error) {
	options := hdf5.Options{Name: in.Name, Follow: in.Follow, Budget: in.Budget, Context: in.Context}
	if file := in.File(); file != nil {
		f, err = hdf5.NewReader(file, in.Size, options)
	} else {
		f, err = hdf5.NewReader(in.ReaderAt, in.Size, options)
	}
	return f, func() error { return errors.Join(f.Close(), in.Close()) }, err
}
