package pickle

import (
	"bytes"
	"errors"
	"io"
)

// maxBlock is the size of the blocks that pickles are read in.
const maxBlock = 64 << 10

// A blockReader reads the small parts of a pickle from a block in memory. Package bufio would take half of
// the time of an instruction.
type blockReader struct {
	r     io.Reader
	block []byte
	at    int // in block
}

// newBlockReader returns a reader of at most size bytes.
func newBlockReader(r io.Reader, size int64) blockReader {
	return blockReader{r: r, block: make([]byte, 0, max(1, min(size, maxBlock)))}
}

// peek returns the next bytes, n at least, which is at most the size of a block.
func (b *blockReader) peek(n int) ([]byte, error) {
	if len(b.block)-b.at < n {
		rest := copy(b.block[:cap(b.block)], b.block[b.at:])
		more, err := io.ReadAtLeast(b.r, b.block[rest:cap(b.block)], n-rest)
		b.block, b.at = b.block[:rest+more], 0
		if err != nil {
			return nil, err
		}
	}
	return b.block[b.at:], nil
}

// read fills dst.
func (b *blockReader) read(dst []byte) error {
	n := copy(dst, b.block[b.at:])
	b.at += n
	_, err := io.ReadFull(b.r, dst[n:])
	return err
}

// maxLine bounds the names of modules and classes.
const maxLine = 4096

// line returns the bytes up to the next newline, valid until the next call, and skips both.
func (b *blockReader) line() ([]byte, error) {
	for size := 1; size <= maxLine; {
		next, err := b.peek(size)
		if err != nil {
			return nil, err
		}
		if end := bytes.IndexByte(next, '\n'); end >= 0 {
			b.at += end + 1
			return next[:end], nil
		}
		size = len(next) + 1
	}
	return nil, errors.New("a name has no end")
}
