package filter

import (
	"encoding/binary"
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
)

// Szip, filter 4: the lossless coder of CCSDS 121.0-B-3, framed as by libaec
// (libaec/src/sz_compat.c) and H5Zszip.c.
//
//	| decoded size, little-endian: 4 | coded blocks … |
//
// params: options (32: differences of samples are coded; 16: samples are big-endian),
// samples per block, bits per sample, samples per line. The blocks of a line are coded
// together; the last one is padded. Samples of 32 and 64 bits are coded as planes of
// bytes.

// SzipID is the number of the szip filter.
const SzipID = 4

func init() { Register(Codec{ID: SzipID, Name: "szip", Decode: decodeSzip}) }

const (
	szipBigEndian = 16
	szipNearest   = 32
)

// A szip holds the parameters of the filter and the state of its decoder.
type szip struct {
	r          bitReader
	width      int // bits of a sample
	block      int // samples of a block
	line       int // samples of a line
	idWidth    int // bits of a block's code option
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
	bytes := scratch.Get(size)
	defer scratch.Put(bytes)
	if err := s.decode(bytes); err != nil {
		return nil, err
	}
	return decodeShuffle(dst, bytes, nil, planes)
}

// szipOf checks params. planes is the number of byte planes that were coded
// separately, or 1.
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

// decodeLine fills samples and reports whether the input was valid.
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

// decodeBlocks decodes the block at sample at of the line, or several blocks of zeros
// at once, and returns the number of samples. A line of differences begins with a
// sample that is not a difference.
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

// decodeZeros clears as many blocks as the next number says; 5 means all up to the
// end of the line or of a segment of 64 blocks.
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

// decodePairs decodes two samples a, b from each number (a+b)(a+b+1)/2 + b. If first
// is 1, the first sample is already decoded, and the a of the first pair is ignored.
func (s *szip) decodePairs(block []uint32, first int) int {
	for i := 0; i < s.block; i += 2 {
		m, sum := s.r.zeros(), 0
		if m > 90 { // 12 + 11 + …, more than samples coded in this way can have
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

// add turns differences into samples. The differences were mapped to unsigned numbers
// relative to the previous sample: small ones alternate in sign, and those beyond the
// range in one direction all go in the other (the prediction error mapper of CCSDS 121.0-B-3).
func (s *szip) add() {
	maxSample := uint32(1)<<s.width - 1
	last := s.samples[0]
	for i, d := range s.samples[1:] {
		var mask uint32
		if last&(maxSample/2+1) != 0 {
			mask = maxSample
		}
		if d>>1+d&1 <= mask^last {
			last += d>>1 ^ -(d & 1)
		} else {
			last = mask ^ d
		}
		s.samples[i+1] = last
	}
}
