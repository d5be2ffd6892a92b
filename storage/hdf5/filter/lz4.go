package filter

import (
	"encoding/binary"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// LZ4, filter 32004 (HDFGroup/hdf5_plugins, LZ4/src/H5Zlz4.c). All numbers are
// big-endian. Incompressible blocks are stored uncompressed.
//
//	| total size: 8 | block size: 4 | size of 1st block: 4 | LZ4 block … | size of 2nd: 4 | … |
//
// params[0], if present, is the block size it was written with.

// LZ4ID is the number of the LZ4 filter.
const LZ4ID = 32004

func init() {
	Register(Codec{ID: LZ4ID, Name: "lz4", Plugin: "hdf5plugin", Decode: decodeLZ4, Encode: encodeLZ4})
}

// LZ4 returns a filter that compresses less than [Deflate] but much faster. Other
// programs need the registered plugin to read it.
func LZ4() Filter { return Filter{ID: LZ4ID, Name: "lz4", Flags: 1} }

func decodeLZ4(dst, src []byte, _ []uint32, _ int) ([]byte, error) {
	if len(src) < 12 {
		return nil, errCorrupt
	}
	size, block := binary.BigEndian.Uint64(src), uint64(binary.BigEndian.Uint32(src[8:]))
	if size > uint64(len(dst)) || size > 0 && block == 0 {
		return nil, fmt.Errorf("%d bytes in blocks of %d, where %d are expected", size, block, len(dst))
	}
	_, err := decodeBlocks(dst[:size], src[12:], int(min(block, size)), func(dst, src []byte) error {
		if len(src) == len(dst) {
			copy(dst, src)
			return nil
		}
		return decodeLZ4Block(dst, src)
	})
	return dst[:size], err
}

// decodeBlocks decodes blocks, each after its size as a big-endian 32-bit number,
// until dst is full. It returns the rest of src.
func decodeBlocks(dst, src []byte, block int, decode func(dst, src []byte) error) (rest []byte, err error) {
	for at := 0; at < len(dst); at += block {
		if len(src) < 4 || uint64(binary.BigEndian.Uint32(src)) > uint64(len(src)-4) {
			return nil, errCorrupt
		}
		n := binary.BigEndian.Uint32(src)
		if err := decode(dst[at:min(at+block, len(dst))], src[4:4+n]); err != nil {
			return nil, err
		}
		src = src[4+n:]
	}
	return src, nil
}

// lz4Block is the decoded size of a block, small enough for the CPU caches.
const lz4Block = 1 << 18

func encodeLZ4(src []byte, _ []uint32, _ int) ([]byte, error) {
	size := len(src)
	out := make([]byte, 12, size+16)
	binary.BigEndian.PutUint64(out, uint64(len(src)))
	binary.BigEndian.PutUint32(out[8:], uint32(min(len(src), lz4Block)))
	var c lz4.Compressor
	for len(src) > 0 {
		block := src[:min(len(src), lz4Block)]
		src = src[len(block):]
		at := len(out)
		out = append(append(out, 0, 0, 0, 0), block...)
		// A block that is not smaller would be read as an uncompressed one.
		if n, err := c.CompressBlock(block, out[at+4:len(out)-1]); err == nil && n > 0 {
			out = out[:at+4+n]
		} else {
			copy(out[at+4:], block)
		}
		binary.BigEndian.PutUint32(out[at:], uint32(len(out)-at-4))
	}
	if len(out) >= size {
		return nil, ErrIncompressible
	}
	return out, nil
}
