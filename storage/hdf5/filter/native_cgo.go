//go:build cgo

package filter

// The parts of filters that are written in C. libdeflate decodes a whole chunk at once,
// several times faster than zlib, and never writes beyond the output buffer.

// #cgo CFLAGS: -O3 -Wall -Wextra
// #cgo LDFLAGS: -ldeflate
// #include "bitshuffle.h"
// #include "deflate.h"
// #include "shuffle.h"
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// unshuffle undoes shuffle.
func unshuffle(dst, src []byte, width int) {
	C.hdf5_unshuffle((*C.uint8_t)(pointer(dst)), (*C.uint8_t)(pointer(src)), C.size_t(len(src)), C.size_t(width))
}

// shuffle groups the bytes of equal significance of src's elements of width bytes. dst
// is as long as src, which is not empty.
func shuffle(dst, src []byte, width int) {
	C.hdf5_shuffle((*C.uint8_t)(pointer(dst)), (*C.uint8_t)(pointer(src)), C.size_t(len(src)), C.size_t(width))
}

// bitunshuffle reverses the transposition of src into dst. Both hold the same
// multiple of 8 elements, and tmp as many bytes.
func bitunshuffle(dst, src []byte, elemSize int, tmp []byte) {
	_ = tmp[:len(dst)]
	C.hdf5_bitunshuffle((*C.uint8_t)(pointer(dst)), (*C.uint8_t)(pointer(src)),
		C.size_t(len(dst)/elemSize), C.size_t(elemSize), (*C.uint8_t)(pointer(tmp)))
}

type decompressor struct {
	c *C.struct_libdeflate_decompressor
}

var decompressors = sync.Pool{New: func() any {
	c := C.libdeflate_alloc_decompressor()
	if c == nil {
		panic("filter: libdeflate: out of memory")
	}
	d := &decompressor{c}
	runtime.AddCleanup(d, func(c *C.struct_libdeflate_decompressor) { C.libdeflate_free_decompressor(c) }, c)
	return d
}}

func decodeDeflate(dst, src []byte, _ []uint32, _ int) ([]byte, error) {
	d := decompressors.Get().(*decompressor)
	defer decompressors.Put(d)
	var n C.size_t
	switch C.libdeflate_zlib_decompress(d.c, pointer(src), C.size_t(len(src)), pointer(dst), C.size_t(len(dst)), &n) {
	case C.LIBDEFLATE_SUCCESS:
		return dst[:n], nil
	case C.LIBDEFLATE_INSUFFICIENT_SPACE:
		return nil, fmt.Errorf("data decodes to more than %d bytes", len(dst))
	default:
		return nil, errCorrupt
	}
}

type compressor struct {
	c *C.struct_libdeflate_compressor
}

// compressors holds idle compressors by level, which libdeflate fixes at allocation.
var compressors [10]sync.Pool

func getCompressor(level int) (*compressor, error) {
	if level > 9 {
		return nil, fmt.Errorf("level %d; levels go from 0 to 9", level)
	}
	if idle, _ := compressors[level].Get().(*compressor); idle != nil {
		return idle, nil
	}
	c := C.libdeflate_alloc_compressor(C.int(level))
	if c == nil {
		return nil, fmt.Errorf("libdeflate: out of memory")
	}
	d := &compressor{c}
	runtime.AddCleanup(d, func(c *C.struct_libdeflate_compressor) { C.libdeflate_free_compressor(c) }, c)
	return d, nil
}

// encodeDeflate fails, as libhdf5 does, if the result would not be smaller.
func encodeDeflate(src []byte, params []uint32, _ int) ([]byte, error) {
	level := 6
	if len(params) > 0 {
		level = int(params[0])
	}
	c, err := getCompressor(level)
	if err != nil {
		return nil, err
	}
	defer compressors[level].Put(c)
	dst := make([]byte, len(src))
	n := C.libdeflate_zlib_compress(c.c, pointer(src), C.size_t(len(src)), pointer(dst), C.size_t(len(dst)))
	if n == 0 {
		return nil, ErrIncompressible
	}
	return dst[:n], nil
}

// pointer returns the address of b's first byte for a C call.
func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
