// Package protowire reads the wire format of protocol buffers from files, without loading
// them (protobuf.dev/programming-guides/encoding).
package protowire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// A Field is a field of a message.
type Field struct {
	Number int
	Type   int    // 0 for varints, 1 for 8 bytes, 2 for bytes, 5 for 4 bytes
	Value  uint64 // of types 0, 1 and 5
	At     int64  // of type 2: where the bytes are, and how many
	Size   int64
}

// A Reader reads the bytes of a message from a file.
type Reader struct {
	r       io.ReaderAt
	at, end int64
	buffer  []byte // of the file from start on
	start   int64
	memory  [4096]byte
}

// NewReader returns a reader of size bytes from offset at on, which the file has.
func NewReader(r io.ReaderAt, at, size int64) *Reader { return &Reader{r: r, at: at, end: at + size} }

// More reports whether there are bytes left.
func (r *Reader) More() bool { return r.at < r.end }

// bytes returns the next n bytes, up to 10, or fewer at the end.
func (r *Reader) bytes(n int64) ([]byte, error) {
	n = min(n, r.end-r.at)
	if r.at < r.start || r.at+n > r.start+int64(len(r.buffer)) {
		want := min(int64(len(r.memory)), r.end-r.at)
		got, err := r.r.ReadAt(r.memory[:want], r.at)
		if int64(got) < n {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		r.buffer, r.start = r.memory[:got], r.at
	}
	return r.buffer[r.at-r.start:][:n], nil
}

// Varint reads an integer of variable length.
func (r *Reader) Varint() (uint64, error) {
	b, err := r.bytes(binary.MaxVarintLen64)
	if err != nil {
		return 0, err
	}
	x, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, fmt.Errorf("byte %d: an integer has no end", r.at)
	}
	r.at += int64(n)
	return x, nil
}

var errTruncated = errors.New("a field reaches beyond the end of its message")

// Next reads a field and skips its bytes.
func (r *Reader) Next() (f Field, err error) {
	start := r.at
	fail := func(err error) (Field, error) { return f, fmt.Errorf("byte %d: %w", start, err) }
	tag, err := r.Varint()
	if err != nil {
		return f, err
	}
	if f.Number, f.Type = int(tag>>3), int(tag&7); tag>>3 == 0 || bits.Len64(tag) > 32 {
		return fail(fmt.Errorf("field number %d", tag>>3))
	}
	switch f.Type {
	case 0:
		f.Value, err = r.Varint()
	case 1, 5:
		n := map[int]int64{1: 8, 5: 4}[f.Type]
		var b []byte
		if b, err = r.bytes(n); err == nil && int64(len(b)) < n {
			return fail(errTruncated)
		}
		for i := len(b) - 1; i >= 0; i-- {
			f.Value = f.Value<<8 | uint64(b[i])
		}
		r.at += n
	case 2:
		var size uint64
		size, err = r.Varint()
		if err == nil && size > uint64(r.end-r.at) {
			return fail(errTruncated)
		}
		f.At, f.Size = r.at, int64(size)
		r.at += f.Size
	default:
		return fail(fmt.Errorf("a field of wire type %d", f.Type))
	}
	return f, err
}

// maxText bounds the length of names and other texts.
const maxText = 64 << 20

// Text reads the bytes of a field as text.
func (r *Reader) Text(f Field) (string, error) {
	if f.Type != 2 || f.Size > maxText {
		return "", fmt.Errorf("field %d of %d bytes is no text", f.Number, f.Size)
	}
	b := make([]byte, f.Size)
	if _, err := r.r.ReadAt(b, f.At); err != nil && f.Size > 0 {
		return "", err
	}
	return string(b), nil
}

// Sub returns a reader of the message in a field.
func (r *Reader) Sub(f Field) *Reader { return NewReader(r.r, f.At, f.Size) }
