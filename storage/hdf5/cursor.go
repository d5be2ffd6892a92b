package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

const undefined = format.Undefined

// widths are the sizes, in bytes, of the addresses and lengths of a file.
type widths struct{ offset, length int }

// A cursor reads the little-endian fields of a structure in sequence. The first field
// that is invalid sets err; all later ones are zero.
type cursor struct {
	widths
	what string // the structure, for errors
	buf  []byte
	at   int
	err  error
}

func (c *cursor) fail(message string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%s: "+message, append([]any{c.what}, args...)...)
	}
}

// bytes returns the next n bytes, a part of the cursor's buffer.
func (c *cursor) bytes(n int) []byte {
	if c.err == nil && (n < 0 || n > len(c.buf)-c.at) {
		c.fail("ends after %d bytes, want %d more at %d", len(c.buf), n, c.at)
	}
	if c.err != nil {
		return nil
	}
	c.at += n
	return c.buf[c.at-n : c.at : c.at]
}

func (c *cursor) skip(n int)     { c.bytes(n) }
func (c *cursor) rest() []byte   { return c.bytes(len(c.buf) - c.at) }
func (c *cursor) remaining() int { return len(c.buf) - c.at }

// uint reads an unsigned number of n bytes. It must fit in 64 bits, unless all its bits
// are set.
func (c *cursor) uint(n int) uint64 {
	b := c.bytes(n)
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	}
	var x uint64
	for k := len(b) - 1; k >= 0; k-- {
		if k >= 8 && b[k] != 0 && b[k] != 0xff {
			c.fail("number %x does not fit into 64 bits", b)
			return 0
		}
		x = x<<8 | uint64(b[k])
	}
	return x
}

func (c *cursor) u8() int     { return int(c.uint(1)) }
func (c *cursor) u16() int    { return int(c.uint(2)) }
func (c *cursor) u32() int    { return int(c.uint(4)) }
func (c *cursor) u64() uint64 { return c.uint(8) }

// address reads a file address. It is undefined if all its bits are set.
func (c *cursor) address() uint64 {
	a := c.uint(c.offset)
	if n := c.offset; n < 8 && a == 1<<(8*n)-1 {
		return undefined
	}
	return a
}

// size reads a length, which must fit in an int.
func (c *cursor) size() int { return c.count(c.length) }

// count reads a number of n bytes, which must fit in an int.
func (c *cursor) count(n int) int {
	x := c.uint(n)
	if x > 1<<62 {
		c.fail("size %d is too large", x)
		return 0
	}
	return int(x)
}

// text reads a string that is terminated by a zero byte.
func (c *cursor) text() string {
	text, _, terminated := bytes.Cut(c.buf[c.at:], []byte{0})
	if !terminated {
		c.fail("text at %d is not terminated", c.at)
		return ""
	}
	c.skip(len(text) + 1)
	return string(text)
}

// signature reads and checks a signature of four letters and the version after it.
func (c *cursor) signature(want string, version int) {
	if got := c.bytes(4); c.err == nil && string(got) != want {
		c.fail("signature %q, want %q", got, want)
	}
	if got := c.u8(); c.err == nil && got != version {
		c.fail("version %d is not known", got)
	}
}

// errChecksum is the error of a structure that was damaged, or is being written.
var errChecksum = errors.New("checksum")

// checksum reads the checksum of all bytes before it and compares it.
func (c *cursor) checksum() {
	if c.err != nil {
		return
	}
	want := format.Lookup3(c.buf[:c.at])
	if got := uint32(c.u32()); c.err == nil && got != want && format.VerifyChecksums {
		c.fail("%w %08x, want %08x", errChecksum, got, want)
	}
}
