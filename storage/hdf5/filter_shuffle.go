package hdf5

// Shuffle, filter 2: bytes of equal significance side by side, so that what
// follows finds longer repetitions (H5Zshuffle.c).
//
//	| byte 0 of every element | byte 1 of every element | … | rest, as it is |
//
// params[0] is the element size; the rest is what does not fill an element.

// #cgo CFLAGS: -O3 -Wall -Wextra
// #include "filter_shuffle.h"
import "C"

import "fmt"

func init() {
	RegisterFilter(FilterShuffle, "shuffle", decodeShuffle)
	registerEncoder(FilterShuffle, encodeShuffle)
}

// Shuffle regroups the bytes of a chunk's elements, for a compressor to follow.
func Shuffle() Filter { return Filter{ID: FilterShuffle, Name: "shuffle", Flags: 1} }

func decodeShuffle(dst, src []byte, params []uint32, elemSize int) ([]byte, error) {
	width := shuffleWidth(params, elemSize)
	if width <= 1 {
		return src, nil
	}
	if len(src) > len(dst) {
		return nil, fmt.Errorf("%d bytes where %d are expected", len(src), len(dst))
	}
	if len(src) > 0 {
		C.hdf5_unshuffle((*C.uint8_t)(pointer(dst)), (*C.uint8_t)(pointer(src)), C.size_t(len(src)), C.size_t(width))
	}
	return dst[:len(src)], nil
}

func encodeShuffle(src []byte, params []uint32, elemSize int) ([]byte, error) {
	width := shuffleWidth(params, elemSize)
	if width <= 1 || len(src) == 0 {
		return src, nil
	}
	dst := make([]byte, len(src))
	C.hdf5_shuffle((*C.uint8_t)(pointer(dst)), (*C.uint8_t)(pointer(src)), C.size_t(len(src)), C.size_t(width))
	return dst, nil
}

func shuffleWidth(params []uint32, elemSize int) int {
	if len(params) > 0 {
		return int(params[0])
	}
	return elemSize
}
