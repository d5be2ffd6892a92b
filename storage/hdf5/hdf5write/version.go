package hdf5write

import "github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"

// LibraryVersion returns the version of libhdf5, which it loads. Without libhdf5 files
// can be read and not written; the error says so.
func LibraryVersion() (string, error) { return libhdf5.Version() }
