package filter

// Deflate, filter 1: a zlib stream (RFC 1950).
//
//	| 78 | flags | deflate blocks (RFC 1951) … | Adler-32 of the data, big-endian |
//
// params[0] is the compression level, 0 to 9. libdeflate decodes a whole chunk at
// once, several times faster than zlib, and never writes beyond the output buffer.

// #cgo pkg-config: libdeflate
// #include <libdeflate.h>
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// DeflateID is the number of the deflate filter.
const DeflateID = 1

func init() {
	Register(Codec{ID: DeflateID, Name: "deflate", Decode: decodeDeflate, Encode: encodeDeflate})
}

// Deflate returns a filter that compresses chunks as zlib does, at level 0 (store) to 9.
func Deflate(level int) Filter {
	return Filter{ID: DeflateID, Name: "deflate", Flags: 1, Params: []uint32{uint32(level)}}
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
