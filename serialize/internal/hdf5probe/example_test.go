package hdf5probe_test

import (
	"bytes"
	"fmt"
	"io"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/hdf5probe"
)

// A format tells its files by what is in an HDF5 file.
func ExampleOpen() {
	match := func(r io.ReaderAt, size int64) serialize.Confidence {
		f, err := hdf5probe.Open(r, size)
		if err != nil {
			return serialize.NoMatch
		}
		if _, err := f.Lookup("/weights"); err != nil {
			return serialize.NoMatch
		}
		return serialize.ExactMatch
	}
	text := []byte("not an HDF5 file")
	fmt.Println(match(bytes.NewReader(text), int64(len(text))))
	// Output: NoMatch
}
