package hdf5

import (
	"fmt"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

func openInput(in serialize.Input) (*hdf5.File, error) {
	if in.File() == nil {
		return nil, fmt.Errorf("%s: HDF5 is read from files only: %w", in.Name, storage.ErrDevice)
	}
	f, err := hdf5.Open(in.Name, hdf5.Options{Follow: in.Follow})
	if err == nil {
		in.Close()
	}
	return f, err
}
