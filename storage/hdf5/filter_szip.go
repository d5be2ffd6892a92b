package hdf5

import (
	"encoding/binary"
	"fmt"
)

// Szip, filter 4: the lossless coder of CCSDS 121.0-B-3, as libaec's interface
// to it (libaec/src/sz_compat.c) and H5Zszip.c frame it.
//
//	| decoded size, little-endian: 4 | coded blocks … |
//
// params: options (32: of samples, only differences are coded; 16: they are
// big-endian), samples in a block, bits in a sample, samples in a line. Blocks of a line are coded together and padded to whole ones. Samples
// of 32 and 64 bits are coded as planes of bytes.

func init() { RegisterFilter(FilterSzip, "szip", decodeSzip) }

const (
	szipBigEndian = 16
	szipNearest   = 32
)

// A szip is what the params of the filter say, and where its decoder is.
type szip struct {
	r          bitReader
	width      int // bits of a sample
	block      int // samples of a block
	line       int // samples of a line
	idWidth    int // bits that say how a block is coded
	subtracted bool
	bigEndian  bool
	samples    []uint32 // of one line, whole blocks
}

func decodeSzip(dst, src []byte, params []uint32, _ int) ([]byte, error) {
	if len(src) < 4 || len(params) < 4 {
		return nil, errCorrupt
	}
	size := int(binary.LittleEndian.Uint32(src))
	if size > len(dst) {
		return nil, fmt.Errorf("%d bytes, where %d are expected", size, len(dst))
	}
	s, planes, err := szipOf(params)
	if err != nil {
		return nil, err
	}
	s.r.src = src[4:]
	dst = dst[:size]
	if planes == 1 {
		return dst, s.decode(dst)
	}
	bytes := getScratch(size)
	defer putScratch(bytes)
	if err := s.decode(bytes); err != nil {
		return nil, err
	}
	return decodeShuffle(dst, bytes, nil, planes)
}

// szipOf checks params. planes is 1, or how many bytes of an element were coded
// apart from each other.
func szipOf(params []uint32) (s *szip, planes int, err error) {
	mask, block, width, line := params[0], params[1], params[2], params[3]
	if block < 2 || block > 256 || block%2 != 0 || line < 1 || line > 1<<16 || width < 1 || width > 32 && width != 64 {
		return nil, 0, fmt.Errorf("blocks of %d and lines of %d samples with %d bits: %w", block, line, width, errCorrupt)
	}
	planes = 1
	if width == 32 || width == 64 {
		planes, width = int(width/8), 8
	}
	s = &szip{width: int(width), block: int(block), line: int(line), idWidth: 3,
		subtracted: mask&szipNearest != 0, bigEndian: mask&szipBigEndian != 0}
	switch {
	case width > 16:
		s.idWidth = 5
	case width > 8:
		s.idWidth = 4
	}
	blocks := (s.line + s.block - 1) / s.block
	s.samples = make([]uint32, blocks*s.block)
	return s, planes, nil
}

// decode fills dst, line by line.
func (s *szip) decode(dst []byte) error {
	bytes := 1
	if s.width > 16 {
		bytes = 4
	} else if s.width > 8 {
		bytes = 2
	}
	for len(dst) >= bytes {
		if !s.decodeLine() {
			return errCorrupt
		}
		for _, x := range s.samples[:min(s.line, len(dst)/bytes)] {
			for i := range bytes {
				if s.bigEndian {
					dst[i] = byte(x >> (8 * (bytes - 1 - i)))
				} else {
					dst[i] = byte(x >> (8 * i))
				}
			}
			dst = dst[bytes:]
		}
	}
	if len(dst) > 0 {
		return errCorrupt
	}
	return nil
}

// decodeLine fills samples, and reports whether the bits were there and made sense.
func (s *szip) decodeLine() bool {
	for at := 0; at < len(s.samples); {
		n := s.decodeBlocks(at)
		if n == 0 || s.r.short {
			return false
		}
		at += n
	}
	if s.subtracted {
		s.add()
	}
	return true
}

// decodeBlocks decodes the block at a place in the line, or some blocks of zeros
// at once, and returns how many samples that made. A line of differences begins
// with a sample as it is.
func (s *szip) decodeBlocks(at int) int {
	block := s.samples[at : at+s.block]
	id := int(s.r.take(s.idWidth))
	if id == 1<<s.idWidth-1 {
		for i := range block {
			block[i] = uint32(s.r.take(s.width))
		}
		return s.block
	}
	pairs := id == 0 && s.r.take(1) == 1
	first := 0
	if s.subtracted && at == 0 {
		block[0] = uint32(s.r.take(s.width))
		first = 1
	}
	switch {
	case pairs:
		return s.decodePairs(block, first)
	case id == 0:
		return s.decodeZeros(at, first)
	}
	for i := first; i < s.block; i++ {
		block[i] = uint32(s.r.zeros()) << (id - 1)
	}
	for i := first; i < s.block; i++ {
		block[i] += uint32(s.r.take(id - 1))
	}
	return s.block
}

// decodeZeros clears as many blocks as one number says: 5 stands for all up to
// the end of the line, or of 64 blocks.
func (s *szip) decodeZeros(at, first int) int {
	blocks, here := s.r.zeros()+1, at/s.block
	if blocks == 5 {
		blocks = min(len(s.samples)/s.block-here, 64-here%64)
	} else if blocks > 5 {
		blocks--
	}
	if blocks > len(s.samples)/s.block-here {
		return 0
	}
	clear(s.samples[at+first : at+blocks*s.block])
	return blocks * s.block
}

// decodePairs decodes two samples a, b from each number (a+b)(a+b+1)/2 + b. Of
// the first pair only b counts if a stands there as it is.
func (s *szip) decodePairs(block []uint32, first int) int {
	for i := 0; i < s.block; i += 2 {
		m, sum := s.r.zeros(), 0
		if m > 90 { // 12 + 11 + … more than samples so coded can have
			return 0
		}
		for (sum+1)*(sum+2)/2 <= m {
			sum++
		}
		b := m - sum*(sum+1)/2
		if i >= first {
			block[i] = uint32(sum - b)
		}
		block[i+1] = uint32(b)
	}
	return s.block
}

// add turns differences into samples. They were folded into the range that the
// last sample leaves: small ones alternate in sign, and beyond what is possible
// in one direction all go the other way.
func (s *szip) add() {
	most := uint32(1)<<s.width - 1
	last := s.samples[0]
	for i, d := range s.samples[1:] {
		var mask uint32
		if last&(most/2+1) != 0 {
			mask = most
		}
		if d>>1+d&1 <= mask^last {
			last += d>>1 ^ -(d & 1)
		} else {
			last = mask ^ d
		}
		s.samples[i+1] = last
	}
}
