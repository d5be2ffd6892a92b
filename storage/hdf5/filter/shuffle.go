package filter

// Shuffle, filter 2, groups the bytes of equal significance, so that a compressor
// finds longer repetitions (H5Zshuffle.c).
//
//	| byte 0 of every element | byte 1 of every element | … | rest |
//
// params[0] is the element size. The rest is a last, incomplete element.

import "fmt"

// ShuffleID is the number of the shuffle filter.
const ShuffleID = 2

func init() {
	Register(Codec{ID: ShuffleID, Name: "shuffle", Decode: decodeShuffle, Encode: encodeShuffle})
}

// Shuffle returns a filter that groups the bytes of a chunk's elements by
// significance. A compressor should follow it.
func Shuffle() Filter { return Filter{ID: ShuffleID, Name: "shuffle", Flags: 1} }

func decodeShuffle(dst, src []byte, params []uint32, elemSize int) ([]byte, error) {
	width := shuffleWidth(params, elemSize)
	if width <= 1 {
		return src, nil
	}
	if len(src) > len(dst) {
		return nil, fmt.Errorf("%d bytes where %d are expected", len(src), len(dst))
	}
	if len(src) > 0 {
		unshuffle(dst, src, width)
	}
	return dst[:len(src)], nil
}

func encodeShuffle(src []byte, params []uint32, elemSize int) ([]byte, error) {
	width := shuffleWidth(params, elemSize)
	if width <= 1 || len(src) == 0 {
		return src, nil
	}
	dst := make([]byte, len(src))
	shuffle(dst, src, width)
	return dst, nil
}

func shuffleWidth(params []uint32, elemSize int) int {
	if len(params) > 0 {
		return int(params[0])
	}
	return elemSize
}
