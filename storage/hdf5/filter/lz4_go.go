//go:build !cgo

package filter

import "github.com/pierrec/lz4/v4"

// decodeLZ4Block fills dst from one LZ4 block.
func decodeLZ4Block(dst, src []byte) error {
	if n, err := lz4.UncompressBlock(src, dst); err != nil || n != len(dst) {
		return errCorrupt
	}
	return nil
}
