package hdf5_test

import (
	"context"
	"testing"

	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5test"
)

// FuzzOpen reads everything in a file.
func FuzzOpen(f *testing.F) {
	hdf5test.FuzzFile(f, func(_ *testing.T, name string) { readAll(name) })
}

func FuzzVerify(f *testing.F) {
	hdf5test.FuzzFile(f, func(_ *testing.T, name string) { hdf5.Verify(context.Background(), name, nil) })
}
