//go:build cgo

package filter

// #cgo linux LDFLAGS: -ldl
// #cgo CFLAGS: -Wall -Wextra
// #include "blosc2_library.h"
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"unsafe"
)

// Blosc2Library loads c-blosc2 and reports whether it is installed. It then decodes Blosc2,
// with codecs and filters that the decoder of this package lacks.
var Blosc2Library = sync.OnceValue(func() bool { return C.blosc2_load() != 0 })

// libraryChunks returns a function that decodes a chunk of a frame with c-blosc2 and
// returns its size, and one that ends the use of the frame; or nil if the library is not
// installed.
func libraryChunks(frame []byte) (decode func(k int, dst []byte) (int, error), close func(), err error) {
	if !Blosc2Library() {
		return nil, nil, nil
	}
	pinner := new(runtime.Pinner)
	pinner.Pin(unsafe.SliceData(frame)) // the library keeps the pointer until it closes the frame
	opened := C.blosc2_open(pointer(frame), C.int64_t(len(frame)))
	if opened == nil {
		pinner.Unpin()
		return nil, nil, fmt.Errorf("c-blosc2 cannot open the frame: %w", errCorrupt)
	}
	decode = func(k int, dst []byte) (int, error) {
		n := C.blosc2_decode(opened, C.int64_t(k), pointer(dst), C.int32_t(min(len(dst), math.MaxInt32)))
		if n < 0 {
			return 0, fmt.Errorf("c-blosc2 error %d", n)
		}
		return int(n), nil
	}
	return decode, func() { C.blosc2_close(opened); pinner.Unpin() }, nil
}
