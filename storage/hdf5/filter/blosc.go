package filter

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/snappy"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
)

// Blosc 1, filter 32001 (Blosc/c-blosc, README_CHUNK_FORMAT.rst). Numbers are
// little-endian; offsets count from the first byte of the chunk.
//
//	| version | compressor's version | flags | element size | size: 4 | block size: 4 | stored size: 4 |
//	| offset of 1st block: 4 | … |
//	| size of 1st part: 4 | compressed part | … |
//
// flags: 1 bytes of each block are shuffled, 2 not compressed and without offsets,
// 4 bits of each block are shuffled, 16 blocks have one part; the highest three bits
// select the compressor. Without flag 16 a block has one part for each byte of an
// element, except for small blocks and the incomplete last one.

// BloscID is the number of the Blosc filter.
const BloscID = 32001

func init() { Register(Codec{ID: BloscID, Name: "blosc", Plugin: "hdf5plugin", Decode: decodeBlosc}) }

type bloscHeader struct {
	flags, elemSize     int
	size, block, stored int
}

const (
	bloscShuffled    = 1
	bloscCopied      = 2
	bloscBitshuffled = 4
	bloscOnePart     = 16
)

// bloscCompressors decode one part. The index is the number in the flags.
var bloscCompressors = [8]func(dst, src []byte) error{decodeBloscLZ, decodeLZ4Block, decodeSnappyBlock, decodeZlibBlock, decodeZstdBlock}

func decodeBlosc(dst, src []byte, _ []uint32, _ int) ([]byte, error) {
	h, err := bloscHeaderOf(src, len(dst))
	if err != nil {
		return nil, err
	}
	dst, src = dst[:h.size], src[:h.stored]
	if h.flags&bloscCopied != 0 {
		if len(src)-16 < len(dst) {
			return nil, errCorrupt
		}
		return src[16 : 16+len(dst)], nil
	}
	packed, tmp := scratch.Get(min(h.block, h.size)), scratch.Get(min(h.block, h.size))
	defer scratch.Put(packed)
	defer scratch.Put(tmp)
	for at, i := 0, 16; at < len(dst); at, i = at+h.block, i+4 {
		if len(src) < i+4 {
			return nil, errCorrupt
		}
		offset := binary.LittleEndian.Uint32(src[i:])
		if uint64(offset) > uint64(len(src)) {
			return nil, errCorrupt
		}
		to := dst[at:min(at+h.block, len(dst))]
		if err := h.decode(to, src[offset:], packed[:len(to)], tmp); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// bloscHeaderOf reads and checks the header of a chunk of at most maxSize decoded bytes.
func bloscHeaderOf(src []byte, maxSize int) (h bloscHeader, err error) {
	if len(src) < 16 {
		return h, errCorrupt
	}
	return parseBloscHeader(src, maxSize, len(src))
}

// parseBloscHeader is bloscHeaderOf for the first 16 bytes of a chunk that is stored in have bytes.
func parseBloscHeader(src []byte, maxSize, have int) (h bloscHeader, err error) {
	number := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(src[at:])) }
	size, block, stored := number(4), number(8), number(12)
	if src[0] != 2 || size > uint64(maxSize) || stored < 16 || stored > uint64(have) || size > 0 && block == 0 {
		return h, fmt.Errorf("version %d, %d bytes in blocks of %d, stored in %d; %d are expected from %d: %w",
			src[0], size, block, stored, maxSize, have, errCorrupt)
	}
	return bloscHeader{int(src[2]), int(src[3]), int(size), int(block), int(stored)}, nil
}

// decode fills dst from the block at the start of src.
func (h bloscHeader) decode(dst, src, packed, tmp []byte) error {
	shuffled := h.flags&bloscShuffled != 0 && h.elemSize > 1
	bits := h.flags&bloscBitshuffled != 0 && h.elemSize > 0
	if !shuffled && !bits {
		packed = dst
	}
	if err := h.parts(packed, src); err != nil {
		return err
	}
	switch {
	case shuffled:
		_, err := decodeShuffle(dst, packed, nil, h.elemSize)
		return err
	case bits && len(dst)/h.elemSize%8 == 0:
		whole := len(dst) - len(dst)%h.elemSize
		if whole > 0 {
			bitunshuffle(dst[:whole], packed[:whole], h.elemSize, tmp)
		}
		copy(dst[whole:], packed[whole:])
	case bits:
		copy(dst, packed)
	}
	return nil
}

// parts decodes the parts of one block.
func (h bloscHeader) parts(dst, src []byte) error {
	decode := bloscCompressors[h.flags>>5]
	if decode == nil {
		return fmt.Errorf("compressor %d is unknown", h.flags>>5)
	}
	n := 1
	if h.flags&bloscOnePart == 0 && len(dst) == h.block && h.elemSize > 1 && h.elemSize <= 16 && h.block/h.elemSize >= 128 {
		n = h.elemSize
	}
	for part := len(dst) / n; n > 0; n-- {
		if len(src) < 4 || uint64(binary.LittleEndian.Uint32(src)) > uint64(len(src)-4) {
			return errCorrupt
		}
		size := binary.LittleEndian.Uint32(src)
		if int(size) == part {
			copy(dst[:part], src[4:])
		} else if err := decode(dst[:part], src[4:4+size]); err != nil {
			return err
		}
		dst, src = dst[part:], src[4+size:]
	}
	if len(dst) != 0 {
		return errCorrupt
	}
	return nil
}

func decodeSnappyBlock(dst, src []byte) error {
	n, err := snappy.DecodedLen(src)
	if err != nil || n != len(dst) {
		return errCorrupt
	}
	if out, err := snappy.Decode(dst, src); err != nil || len(out) != len(dst) {
		return errCorrupt
	}
	return nil
}

func decodeZlibBlock(dst, src []byte) error {
	out, err := decodeDeflate(dst, src, nil, 0)
	if err == nil && len(out) != len(dst) {
		err = errCorrupt
	}
	return err
}

// decodeBloscLZ fills dst from BloscLZ (c-blosc, blosc/blosclz.c): literals, and
// matches with earlier output.
//
//	| 000 n |                                      n+1 literals follow
//	| len high | … | low |                         len+2 bytes from high*256+low+1 back
//	| len 11111 | … | 11111111 | distance: 2 |     from big-endian distance+8192 back
//
// The first field has 3 bits; it is ignored in the first byte of the stream. A length
// of 7 is continued by bytes that are added to it, up to the first that is not 255.
func decodeBloscLZ(dst, src []byte) error {
	const far = 8191
	if len(src) == 0 {
		return errCorrupt
	}
	n, control := 0, int(src[0]&31)
	for src = src[1:]; ; control, src = int(src[0]), src[1:] {
		if control < 32 {
			if control+1 > len(src) || control+1 > len(dst)-n {
				return errCorrupt
			}
			n += copy(dst[n:], src[:control+1])
			src = src[control+1:]
		} else {
			size, high := control>>5+2, control&31<<8
			if control>>5 == 7 {
				for code := 255; code == 255; src = src[1:] {
					if len(src) < 2 {
						return errCorrupt
					}
					code = int(src[0])
					size += code
				}
			}
			if len(src) == 0 {
				return errCorrupt
			}
			distance := high + int(src[0])
			src = src[1:]
			if distance == far {
				if len(src) < 2 {
					return errCorrupt
				}
				distance += int(binary.BigEndian.Uint16(src))
				src = src[2:]
			}
			if !copyMatch(dst, n, distance+1, size) {
				return errCorrupt
			}
			n += size
		}
		if len(src) == 0 {
			break
		}
	}
	if n != len(dst) {
		return errCorrupt
	}
	return nil
}
