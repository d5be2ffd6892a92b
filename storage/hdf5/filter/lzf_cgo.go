//go:build cgo

package filter

// #include "lzf.h"
import "C"

func decodeLZF(dst, src []byte, _ []uint32, _ int) ([]byte, error) {
	n := C.hdf5_lzf_decode((*C.uint8_t)(pointer(dst)), C.size_t(len(dst)), (*C.uint8_t)(pointer(src)), C.size_t(len(src)))
	if n < 0 {
		return nil, errCorrupt
	}
	return dst[:n], nil
}
