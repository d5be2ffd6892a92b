package filter

import (
	"encoding/binary"
	"fmt"
)

// LZO, filter 305, as PyTables writes it: one stream of LZO1X. Bytes after the end of the
// stream, such as PyTables' checksum of old versions, are ignored.
//
// LZO has no specification. This decoder follows "LZO stream format as understood by
// Linux's LZO decompressor" (Documentation/staging/lzo.rst in the Linux kernel): a stream is
// instructions, each a copy of earlier output or literals. S in the last byte of a copy is
// the number of literals after it, 0 to 3; a length of 0 continues in the next bytes.
//
//	first byte:  18-255                 byte-17 literals
//	0000 LLLL    after a copy with S=0: 3+L literals
//	0000 DDSS H  after 1 to 3 literals: 2 bytes from H*4+D+1 back
//	             after more literals:   3 bytes from H*4+D+2049 back
//	0001 HLLL D  D and S in 16 bits:    2+L bytes from 16384+H*16384+D back; the end if that is 16384
//	001L LLLL D  the same:              2+L bytes from D+1 back
//	01LD DDSS H                         3+L bytes from H*8+D+1 back
//	1LLD DDSS H                         5+L bytes from H*8+D+1 back

// LZOID is the number of the LZO filter.
const LZOID = 305

func init() { Register(Codec{ID: LZOID, Name: "lzo", Plugin: "tables", Decode: decodeLZO}) }

func decodeLZO(dst, src []byte, _ []uint32, _ int) ([]byte, error) {
	d := lzoDecoder{dst: dst, src: src}
	for d.instruction() {
	}
	if d.corrupt {
		return nil, fmt.Errorf("after %d bytes: %w", d.n, errCorrupt)
	}
	return dst[:d.n], nil
}

type lzoDecoder struct {
	dst, src []byte
	at, n    int // in src and dst
	state    int // the number of literals before the next instruction, at most 4
	corrupt  bool
}

func (d *lzoDecoder) next() int {
	if d.at >= len(d.src) {
		d.corrupt = true
		return 0
	}
	d.at++
	return int(d.src[d.at-1])
}

func (d *lzoDecoder) next16() int {
	if len(d.src)-d.at < 2 {
		d.corrupt = true
		return 0
	}
	d.at += 2
	return int(binary.LittleEndian.Uint16(d.src[d.at-2:]))
}

// length completes a length in the lowest bits of an instruction.
func (d *lzoDecoder) length(low, bits int) int {
	mask := 1<<bits - 1
	if low&mask != 0 {
		return low & mask
	}
	for n := mask; !d.corrupt; n += 255 {
		if b := d.next(); b != 0 {
			return n + b
		}
	}
	return 0
}

func (d *lzoDecoder) literals(n int) {
	if n > len(d.src)-d.at || n > len(d.dst)-d.n {
		d.corrupt = true
		return
	}
	copy(d.dst[d.n:], d.src[d.at:d.at+n])
	d.at, d.n = d.at+n, d.n+n
}

// copy copies earlier output, and then the literals that the lowest bits of an
// instruction count.
func (d *lzoDecoder) copy(distance, size, low int) {
	if d.corrupt || !copyMatch(d.dst, d.n, distance, size) {
		d.corrupt = true
		return
	}
	d.n += size
	d.state = low & 3
	d.literals(d.state)
}

// instruction executes an instruction, and reports whether another one follows.
func (d *lzoDecoder) instruction() bool {
	first := d.at == 0
	switch op := d.next(); {
	case first && op > 17:
		d.state = min(op-17, 4)
		d.literals(op - 17)
	case op < 16 && d.state == 0:
		d.literals(3 + d.length(op, 4))
		d.state = 4
	case op < 16 && d.state < 4:
		d.copy(d.next()<<2+op>>2+1, 2, op)
	case op < 16:
		d.copy(d.next()<<2+op>>2+2049, 3, op)
	case op < 32:
		size := 2 + d.length(op, 3)
		word := d.next16()
		distance := 16384 + op&8<<11 + word>>2
		if distance == 16384 {
			return false
		}
		d.copy(distance, size, word)
	case op < 64:
		size := 2 + d.length(op, 5)
		word := d.next16()
		d.copy(word>>2+1, size, word)
	case op < 128:
		d.copy(d.next()<<3+op>>2&7+1, 3+op>>5&1, op)
	default:
		d.copy(d.next()<<3+op>>2&7+1, 5+op>>5&3, op)
	}
	return !d.corrupt
}
