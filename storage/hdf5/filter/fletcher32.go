package filter

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Fletcher32, filter 3, appends a checksum to the data (H5Zfletcher32.c).
//
//	| data | Fletcher-32 of the data's big-endian 16-bit words, little-endian |
//
// An odd last byte is the upper half of a word. libhdf5 before 1.6.3 swapped the
// bytes of both halves on little-endian machines; that order is accepted, too.

// Fletcher32ID is the number of the Fletcher-32 filter.
const Fletcher32ID = 3

func init() {
	Register(Codec{ID: Fletcher32ID, Name: "fletcher32", Decode: decodeFletcher32, Encode: encodeFletcher32})
}

// Fletcher32 returns a filter that adds a checksum, so that readers detect damaged chunks.
func Fletcher32() Filter { return Filter{ID: Fletcher32ID, Name: "fletcher32"} }

func decodeFletcher32(_, src []byte, _ []uint32, _ int) ([]byte, error) {
	if len(src) < 4 {
		return nil, fmt.Errorf("%d bytes are too few to hold a checksum", len(src))
	}
	data := src[:len(src)-4]
	want := binary.LittleEndian.Uint32(src[len(data):])
	if got := fletcher32(data); got != want && bits.ReverseBytes32(bits.RotateLeft32(got, 16)) != want {
		return nil, fmt.Errorf("checksum %08x, want %08x", got, want)
	}
	return data, nil
}

func encodeFletcher32(src []byte, _ []uint32, _ int) ([]byte, error) {
	out := make([]byte, len(src), len(src)+4)
	copy(out, src)
	return binary.LittleEndian.AppendUint32(out, fletcher32(src)), nil
}

// fletcher32 returns the sums, modulo 65535, of the words and of their partial
// sums (J. Fletcher, IEEE Trans. Comm. 30, 1982), the second in the upper half.
func fletcher32(data []byte) uint32 {
	var sum, sums uint64
	for len(data) >= 2 {
		block := data[:min(len(data)&^1, 2*blockWords)]
		data = data[len(block):]
		for ; len(block) >= 8; block = block[8:] {
			w := binary.BigEndian.Uint64(block)
			a, b, c, d := w>>48, w>>32&0xffff, w>>16&0xffff, w&0xffff
			sums += 4*(sum+a) + 3*b + 2*c + d
			sum += a + b + c + d
		}
		for ; len(block) >= 2; block = block[2:] {
			sum += uint64(binary.BigEndian.Uint16(block))
			sums += sum
		}
		sum, sums = fold(sum), fold(sums)
	}
	if len(data) == 1 {
		sum += uint64(data[0]) << 8
		sums += sum
	}
	return uint32(fold(sums))<<16 | uint32(fold(sum))
}

// blockWords is the number of words after which both sums are still below 2^63.
const blockWords = 1 << 20

// fold reduces x modulo 65535, but returns 65535 for nonzero multiples: like
// libhdf5's repeated (x & ffff) + (x >> 16), it never turns a sum into 0.
func fold(x uint64) uint64 {
	for x > 0xffff {
		x = x&0xffff + x>>16
	}
	return x
}
