// Package hdf5probe opens HDF5 files whose format is looked for.
package hdf5probe

import (
	"io"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// Open opens size bytes of r once for all formats that are HDF5 files: see [serialize.Opened].
func Open(r io.ReaderAt, size int64) (*hdf5.File, error) {
	return serialize.Opened(r, func() (*hdf5.File, error) {
		return hdf5.NewReader(unmapped{r}, size, hdf5.Options{Name: "file"})
	})
}

// unmapped hides that a file could be mapped, which would have to be closed.
type unmapped struct{ io.ReaderAt }
