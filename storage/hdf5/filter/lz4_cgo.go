//go:build cgo

package filter

// #include "lz4.h"
import "C"

// decodeLZ4Block fills dst from one LZ4 block.
func decodeLZ4Block(dst, src []byte) error {
	if C.hdf5_lz4_decode((*C.uint8_t)(pointer(dst)), C.size_t(len(dst)), (*C.uint8_t)(pointer(src)), C.size_t(len(src))) != C.ptrdiff_t(len(dst)) {
		return errCorrupt
	}
	return nil
}
