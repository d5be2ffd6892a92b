package hdf5

// #include "shim.h"
import "C"

import (
	"fmt"

	h5 "gonum.org/v1/hdf5"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// libraryRead fills dst with the box of a dataset that has count elements
// along each axis from start on, read by libhdf5: as elements of type t, or as
// they are stored if t is Invalid. dst must be exactly as long as they are.
//
// Only tests call it, to examine this package's own reader; cgo keeps it out of
// their files. A hostile file can crash it.
func libraryRead(file, dataset string, dst []byte, t dtype.Type, start, count []int) error {
	if err := checkPath(dataset); err != nil {
		return err
	}
	if len(start) != len(count) {
		return fmt.Errorf("box from %v with %v elements: %w", start, count, views.ErrShape)
	}
	var as int64
	if t != dtype.Invalid {
		known, err := typeOf(t)
		if err != nil {
			return err
		}
		as = known.ID()
	}
	id, err := callLibrary(func(msg *C.char, size C.size_t) C.int64_t { return C.shim_open(cString(file), msg, size) })
	if err != nil {
		return err
	}
	defer closeFile(wrap[h5.File](id))
	_, err = callLibrary(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_read(C.int64_t(id), cString(dataset), C.int64_t(as), C.int(len(start)), sizes(start), sizes(count),
			pointer(dst), C.size_t(len(dst)), msg, size)
	})
	return err
}
