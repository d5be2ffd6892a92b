package filter

import (
	"encoding/binary"
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
)

// A chunk of Blosc2 (README_CHUNK_FORMAT.rst) begins with the header of a Blosc chunk, with
// flags 1 and 4, and another 16 bytes. Its numbers are little-endian.
//
//	| Blosc header: 16 | filters: 6 | codec | codec's parameter | filters' parameters: 6 | 0 | flags |
//	| offset of 1st block: 4 | … |
//	| size of 1st stream: 4 | stream | … |
//
// The flags: 1 a dictionary, bits 4 to 6 a special value of the whole chunk, and value 3
// follows the header. A block has one stream for each byte of an element, unless the Blosc
// header has flag 16, or it is the incomplete last one. A stream of size 0 is zeros; after a
// size of -x, a byte with bit 0 follows, and the stream is a run of byte x. Filters, which are
// applied from first to last: 1 shuffle, 2 bitshuffle, 3 delta, 4 truncated precision, 35
// differences of the bytes of each stream.

const (
	blosc2HeaderSize  = 32
	blosc2Dictionary  = 1
	blosc2Shuffle     = 1
	blosc2Bitshuffle  = 2
	blosc2Delta       = 3
	blosc2Truncate    = 4
	blosc2ByteDelta   = 35
	blosc2NoSplitting = bloscOnePart
)

// blosc2Codecs decode one stream. The index is the number in the flags; Snappy is gone.
var blosc2Codecs = [8]func(dst, src []byte) error{decodeBloscLZ, decodeLZ4Block, nil, decodeZlibBlock, decodeZstdBlock}

// A blosc2Chunk is the header of a chunk.
type blosc2Chunk struct {
	bloscHeader
	filters, params []byte
	decode          func(dst, src []byte) error
}

// decodeBlosc2Chunk decodes a chunk at the start of src into dst, and returns its size.
func decodeBlosc2Chunk(dst, src []byte) (int, error) {
	if len(src) < blosc2HeaderSize || src[2]&(bloscShuffled|bloscBitshuffled) != bloscShuffled|bloscBitshuffled {
		out, err := decodeBlosc(dst, src, nil, 0) // a chunk of Blosc 1
		if err == nil && len(out) > 0 {
			copy(dst, out)
		}
		return len(out), err
	}
	number := func(at int) int { return int(binary.LittleEndian.Uint32(src[at:])) }
	c := blosc2Chunk{bloscHeader: bloscHeader{int(src[2]), int(src[3]), number(4), number(8), number(12)}, filters: src[16:22], params: src[24:30]}
	flags := src[31]
	if c.size > len(dst) || c.stored < blosc2HeaderSize || c.stored > len(src) || c.size > 0 && c.block == 0 {
		return 0, fmt.Errorf("%d bytes in blocks of %d, stored in %d; %d are expected from %d: %w", c.size, c.block, c.stored, len(dst), len(src), errCorrupt)
	}
	dst, src = dst[:c.size], src[:c.stored]
	rest := src[blosc2HeaderSize:]
	switch special := int(flags >> 4 & 7); {
	case special != 0:
		return c.size, fillSpecial(dst, special, c.elemSize, rest)
	case c.flags&bloscCopied != 0:
		if len(rest) < len(dst) {
			return 0, errCorrupt
		}
		return copy(dst, rest), nil
	case flags&blosc2Dictionary != 0:
		return 0, fmt.Errorf("compressed with a dictionary, which is not supported")
	}
	if c.decode = blosc2Codecs[c.flags>>5]; c.decode == nil {
		return 0, fmt.Errorf("codec %d (%d) of a Blosc2 plugin is not supported", c.flags>>5, src[22])
	}
	return c.size, c.decodeBlocks(dst, src)
}

func (c blosc2Chunk) decodeBlocks(dst, src []byte) error {
	a, b := scratch.Get(min(c.block, c.size)), scratch.Get(min(c.block, c.size))
	defer scratch.Put(a)
	defer scratch.Put(b)
	for at, i := 0, blosc2HeaderSize; at < len(dst); at, i = at+c.block, i+4 {
		if len(src) < i+4 {
			return errCorrupt
		}
		offset := binary.LittleEndian.Uint32(src[i:])
		if uint64(offset) > uint64(len(src)) {
			return errCorrupt
		}
		block := dst[at:min(at+c.block, len(dst))]
		if err := c.streams(block, src[offset:]); err != nil {
			return err
		}
		if err := c.unfilter(block, dst[:min(c.block, len(dst))], at == 0, a[:len(block)], b[:len(block)]); err != nil {
			return err
		}
	}
	return nil
}

// streams decodes the streams of one block.
func (c blosc2Chunk) streams(dst, src []byte) error {
	n := 1
	if c.flags&blosc2NoSplitting == 0 && len(dst) == c.block && c.elemSize > 0 && len(dst)%c.elemSize == 0 {
		n = c.elemSize
	}
	for part := len(dst) / n; n > 0; n-- {
		if len(src) < 4 {
			return errCorrupt
		}
		size, to := int(int32(binary.LittleEndian.Uint32(src))), dst[:part]
		dst, src = dst[part:], src[4:]
		switch {
		case size == 0:
			clear(to)
		case size < 0:
			if len(src) < 1 || src[0]&1 == 0 || size < -255 {
				return errCorrupt
			}
			for k := range to {
				to[k] = byte(-size)
			}
			src = src[1:]
		case size > len(src):
			return errCorrupt
		case size == part:
			copy(to, src)
			src = src[size:]
		default:
			if err := c.decode(to, src[:size]); err != nil {
				return err
			}
			src = src[size:]
		}
	}
	return nil
}

// unfilter reverses the filters of a block, in place. first is the first block of the
// chunk, decoded unless it is this one.
func (c blosc2Chunk) unfilter(block, first []byte, isFirst bool, tmp, spare []byte) error {
	for k := len(c.filters) - 1; k >= 0; k-- {
		size := c.elemSize
		if c.params[k] != 0 && c.filters[k] != blosc2Truncate {
			size = int(c.params[k])
		}
		switch filter := c.filters[k]; {
		case filter == 0 || filter == blosc2Truncate || size < 1:
			continue
		case filter == blosc2Shuffle && size > 1:
			copy(tmp, block)
			if _, err := decodeShuffle(block, tmp, nil, size); err != nil {
				return err
			}
		case filter == blosc2Shuffle:
		case filter == blosc2Bitshuffle:
			if whole := len(block) / size / 8 * 8 * size; whole > 0 {
				copy(tmp, block)
				bitunshuffle(block[:whole], tmp[:whole], size, spare)
			}
		case filter == blosc2Delta:
			undelta(block, first, isFirst, c.elemSize)
		case filter == blosc2ByteDelta:
			for n, rest := len(block)/size, block; size > 0; size, rest = size-1, rest[n:] {
				for i := 1; i < n; i++ {
					rest[i] += rest[i-1]
				}
			}
		default:
			return fmt.Errorf("filter %d of a Blosc2 plugin is not supported", filter)
		}
	}
	return nil
}

// undelta reverses the differences (exclusive or) of elements: of the first block from
// the element before, of the others from the first block.
func undelta(block, first []byte, isFirst bool, elemSize int) {
	switch {
	case elemSize == 2 || elemSize == 4 || elemSize == 8:
	case elemSize%8 == 0:
		elemSize = 8
	default:
		elemSize = 1
	}
	whole := len(block) / elemSize * elemSize
	if isFirst {
		for i := elemSize; i < whole; i++ {
			block[i] ^= block[i-elemSize]
		}
		return
	}
	for i := range min(whole, len(first)) {
		block[i] ^= first[i]
	}
}
