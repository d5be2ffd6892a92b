package filter

// Bitshuffle, filter 32008 (kiyo-masui/bitshuffle, src/bshuf_h5filter.c), groups the
// bits of equal significance block by block, and may compress each block.
//
//	not compressed:    | transposed block | … | last elements |
//	compressed:    | total size: 8 | block size: 4 | size: 4 | compressed block | … | last elements |
//
// Sizes are in bytes, big-endian. Blocks have a multiple of 8 elements; the last block
// is smaller than the others. The last 0 to 7 elements are not transposed.
// params: version, version, element size, elements per block (0 for about 8 KiB),
// compression (0 none, 2 LZ4, 3 Zstandard).

import (
	"encoding/binary"
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
)

// BitshuffleID is the number of the bitshuffle filter.
const BitshuffleID = 32008

func init() {
	Register(Codec{ID: BitshuffleID, Name: "bitshuffle", Plugin: "hdf5plugin", Decode: decodeBitshuffle})
}

var bitshuffleCompressors = map[int]func(dst, src []byte) error{2: decodeLZ4Block, 3: decodeZstdBlock}

func decodeBitshuffle(dst, src []byte, params []uint32, elemSize int) ([]byte, error) {
	param := func(i int) int {
		if i < len(params) {
			return int(params[i])
		}
		return 0
	}
	if k := param(2); k > 0 {
		elemSize = k
	}
	if elemSize < 1 {
		return nil, fmt.Errorf("elements of %d bytes", elemSize)
	}
	tmp := scratch.Get(len(dst))
	defer scratch.Put(tmp)
	decode := bitshuffleCompressors[param(4)]
	switch {
	case param(4) == 0:
		return untransposeBlocks(dst, src, bitshuffleBlock(param(3), elemSize), elemSize, tmp)
	case decode == nil:
		return nil, fmt.Errorf("compression %d is unknown", param(4))
	case len(src) < 12:
		return nil, errCorrupt
	}
	size, block := binary.BigEndian.Uint64(src), int(binary.BigEndian.Uint32(src[8:]))
	if size > uint64(len(dst)) || block%(8*elemSize) != 0 || block == 0 && size > 0 {
		return nil, fmt.Errorf("%d bytes in blocks of %d, where %d are expected", size, block, len(dst))
	}
	whole := int(size) - int(size)%(8*elemSize) // bytes in blocks
	packed := scratch.Get(int(size))
	defer scratch.Put(packed)
	rest, err := decodeBlocks(packed[:whole], src[12:], block, decode)
	if err != nil || len(rest) < int(size)-whole {
		return nil, errCorrupt
	}
	copy(packed[whole:], rest)
	return untransposeBlocks(dst, packed, block/elemSize, elemSize, tmp)
}

// decodeZstdBlock fills dst from one Zstandard frame.
func decodeZstdBlock(dst, src []byte) error {
	if out, err := decodeZstd(dst, src, nil, 0); err != nil || len(out) != len(dst) {
		return errCorrupt
	}
	return nil
}

// bitshuffleBlock returns the number of elements in a block.
func bitshuffleBlock(elems, elemSize int) int {
	if elems == 0 {
		elems = 8192 / elemSize
		return max(elems-elems%8, 128)
	}
	return elems - elems%8
}

// untransposeBlocks reverses the transposition of the bits of every block of elems
// elements. tmp is as large as dst.
func untransposeBlocks(dst, src []byte, elems, elemSize int, tmp []byte) ([]byte, error) {
	if len(src) > len(dst) || elems < 8 {
		return nil, errCorrupt
	}
	n := len(src) / elemSize
	for at := 0; n >= 8; {
		block := min(elems, n-n%8)
		size := block * elemSize
		bitunshuffle(dst[at:at+size], src[at:at+size], elemSize, tmp)
		at, n = at+size, n-block
	}
	whole := len(src) - len(src)%(8*elemSize)
	copy(dst[whole:], src[whole:])
	return dst[:len(src)], nil
}
