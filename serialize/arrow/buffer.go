package arrow

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
)

// Compressions of buffers.
const uncompressed, lz4Frame, zstdFrame = -1, 0, 1

// A bufferReader reads a buffer in order.
type bufferReader struct {
	io.Reader
	compressed bool
	at         int64 // in the file, if it is not compressed
	size       int64 // bytes
	left       int64 // of them
}

// open opens a buffer, which must have that many bytes at least. A compressed buffer is
//
//	int64 size (-1 if what follows is not compressed), frame
func (c *columnReader) open(p part, i, need int) (*bufferReader, error) {
	from := p.buffers[i]
	b := &bufferReader{at: from.at, size: from.size}
	if p.codec != uncompressed && p.codec != lz4Frame && p.codec != zstdFrame {
		return nil, fmt.Errorf("compression %d, which is not read; known are LZ4 and Zstandard: %w", p.codec, dtype.ErrType)
	}
	if p.codec != uncompressed && from.size > 0 {
		var head [8]byte
		if from.size < 8 {
			return nil, fmt.Errorf("a compressed buffer of %d bytes: %w", from.size, storage.ErrState)
		}
		if err := c.in.ReadFull(head[:], from.at); err != nil {
			return nil, err
		}
		from.at, from.size = from.at+8, from.size-8
		b.at, b.size = from.at, from.size
		if size := int64(binary.LittleEndian.Uint64(head[:])); size != -1 {
			b.size, b.compressed = size, true
		}
	}
	if b.left = b.size; b.size < int64(need) {
		return nil, fmt.Errorf("%d rows in a buffer of %d bytes: %w", p.rows, b.size, storage.ErrState)
	}
	b.Reader = io.NewSectionReader(c.in, from.at, from.size)
	if b.compressed {
		return b, c.decompress(b, from, p.codec)
	}
	return b, nil
}

// decodedAtOnce is the size up to which buffers are decompressed at once, for which no memory of
// a stream is needed.
const decodedAtOnce = 1 << 20

// maxWindow is how far back a Zstandard stream may refer; frames that refer further are
// decompressed at once.
const maxWindow = 8 << 20

// decompress replaces the reader of a compressed buffer.
func (c *columnReader) decompress(b *bufferReader, from extent, codec int64) (err error) {
	if b.size < 0 {
		return fmt.Errorf("a buffer of %d bytes: %w", b.size, storage.ErrState)
	}
	if err := c.in.Budget.Make(int(b.size), int(from.size)); err != nil {
		return err
	}
	if codec == lz4Frame {
		b.Reader = lz4.NewReader(bufio.NewReader(b.Reader))
		return nil
	}
	if b.size > decodedAtOnce {
		var header zstd.Header
		head := make([]byte, min(zstd.HeaderMaxSize, from.size))
		if err := c.in.ReadFull(head, from.at); err != nil {
			return err
		}
		if header.Decode(head) == nil && header.WindowSize <= maxWindow && !header.SingleSegment {
			r, err := zstd.NewReader(b.Reader, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
			b.Reader = r
			return err
		}
	}
	if err := c.in.Budget.Allocate(int(b.size), int(from.size)); err != nil {
		return err
	}
	stored := make([]byte, from.size)
	if err := c.in.ReadFull(stored, from.at); err != nil {
		return err
	}
	all, err := column.DecodeZstd(stored, int(b.size))
	b.Reader = bytes.NewReader(all)
	return err
}

// read reads n bytes into the memory of b, if that is enough.
func (r *bufferReader) read(b []byte, n int) ([]byte, error) {
	b = slices.Grow(b[:0], n)[:n]
	r.left -= int64(n)
	_, err := io.ReadFull(r.Reader, b)
	return b, ended(err)
}

// text reads a string of n bytes.
func (r *bufferReader) text(n int) (string, error) {
	var text strings.Builder
	text.Grow(n)
	r.left -= int64(n)
	_, err := io.CopyN(&text, r.Reader, int64(n))
	return text.String(), ended(err)
}

// skip reads n bytes.
func (r *bufferReader) skip(n int64) error {
	r.left -= n
	_, err := io.CopyN(io.Discard, r.Reader, n)
	return ended(err)
}

// check returns an error if a compressed buffer has not as many bytes as it declares.
func (r *bufferReader) check() error {
	if !r.compressed {
		return nil
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r.Reader, r.left+1))
	if err == nil && n != r.left {
		err = fmt.Errorf("a buffer of %d bytes instead of %d: %w", r.size-r.left+n, r.size, storage.ErrState)
	}
	return err
}

// ended returns what the end of a buffer before its declared size is.
func ended(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("a buffer ends early: %w", storage.ErrState)
	}
	return err
}
