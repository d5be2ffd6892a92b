package filter

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Scale-offset, filter 6 (H5Zscaleoffset.c), subtracts the minimum from each element
// and stores the differences in as many bits as the largest needs.
//
//	| bits: 4 | 8 | minimum: 8 | 0: 8 | bits of element 0 | bits of element 1 | … |
//
// Numbers are little-endian; packed elements have the highest bit first. All bits set
// mean the fill value, if there is one. Floats are first multiplied by a power of ten
// and rounded; their minimum is stored as a float.
// params: 0 for floats and 2 for integers; the power of ten, or the requested number
// of bits; the number of elements; 1 for floats; the element size; 1 if signed; 1 if
// big-endian; 1 if there is a fill value; and the fill value in little-endian words.

// ScaleOffsetID is the number of the scale-offset filter.
const ScaleOffsetID = 6

func init() { Register(Codec{ID: ScaleOffsetID, Name: "scaleoffset", Decode: decodeScaleOffset}) }

// A scaleOffset holds the parameters of the filter.
type scaleOffset struct {
	size, n   int
	isFloat   bool
	bigEndian bool
	scale     int // power of ten
	filled    bool
	fill      uint64
}

func decodeScaleOffset(dst, src []byte, params []uint32, _ int) ([]byte, error) {
	s, err := scaleOffsetOf(params)
	if err != nil {
		return nil, err
	}
	if !s.isFloat && s.scale == 8*s.size {
		return src, nil // stored uncompressed
	}
	if s.n > len(dst)/s.size {
		return nil, fmt.Errorf("%d elements of %d bytes, where %d bytes are expected", s.n, s.size, len(dst))
	}
	if len(src) < 21 {
		return nil, errCorrupt
	}
	dst = dst[:s.n*s.size]
	width, minimum := binary.LittleEndian.Uint32(src), binary.LittleEndian.Uint64(src[5:])
	if n := src[4]; n < 8 {
		minimum &= 1<<(8*n) - 1
	}
	src = src[21:]
	switch {
	case width > uint32(8*s.size):
		return nil, fmt.Errorf("%d bits for elements of %d bytes: %w", width, s.size, errCorrupt)
	case width == uint32(8*s.size):
		if copy(dst, src) < len(dst) {
			return nil, errCorrupt
		}
	case !s.unpack(dst, src, int(width), minimum):
		return nil, errCorrupt
	}
	if s.bigEndian {
		for at := 0; at < len(dst); at += s.size {
			slices.Reverse(dst[at : at+s.size])
		}
	}
	return dst, nil
}

func scaleOffsetOf(params []uint32) (s scaleOffset, err error) {
	if len(params) < 10 {
		return s, fmt.Errorf("%d params", len(params))
	}
	kind := params[0]
	s = scaleOffset{
		size: int(params[4]), n: int(params[2]), isFloat: params[3] == 1, bigEndian: params[6] == 1,
		scale: int(int32(params[1])), filled: params[7] == 1, fill: uint64(params[8]) | uint64(params[9])<<32,
	}
	ok := s.size == 4 || s.size == 8 || !s.isFloat && (s.size == 1 || s.size == 2)
	if !ok || s.isFloat && kind != 0 || !s.isFloat && kind != 2 || !s.isFloat && s.scale > 8*s.size {
		return s, fmt.Errorf("params %v describe no type", params)
	}
	return s, nil
}

// unpack fills dst, in little-endian order, and reports whether src was long enough.
func (s scaleOffset) unpack(dst, src []byte, width int, minimum uint64) bool {
	r := bitReader{src: src}
	full := uint64(1)<<width - 1
	for at := 0; at < len(dst); at += s.size {
		x := r.take64(width)
		switch {
		case s.filled && x == full:
			x = s.fill
		case s.isFloat:
			x = s.float(x, minimum)
		default:
			x += minimum
		}
		for i := range s.size {
			dst[at+i] = byte(x >> (8 * i))
		}
	}
	return !r.short
}

// float returns the bits of x / 10^scale + minimum, computed as libhdf5 does.
func (s scaleOffset) float(x, minimum uint64) uint64 {
	if s.size == 4 {
		quotient := float32(int32(x)) / float32(math.Pow(10, float64(s.scale)))
		return uint64(math.Float32bits(quotient + math.Float32frombits(uint32(minimum))))
	}
	quotient := float64(int64(x)) / math.Pow(10, float64(s.scale))
	return math.Float64bits(quotient + math.Float64frombits(minimum))
}
