package ziparchive

import (
	"bytes"
	"io"
	"iter"
)

// PartSize is the number of records in a directory of Parts. Package archive/zip keeps every name twice,
// and several hundred bytes more.
const PartSize = 1000

// Parts yields the archive of size bytes with directories of some of its records each, in their order, and
// the sizes of these archives. count is the number of all records, if it is known. An archive of few records, or
// whose directory is damaged, is yielded as it is.
func Parts(r io.ReaderAt, size int64) (parts iter.Seq2[io.ReaderAt, int64], count int) {
	at, length, count, err := findDirectory(r, size)
	whole := func(yield func(io.ReaderAt, int64) bool) { yield(r, size) }
	if err != nil || count <= PartSize {
		return whole, count
	}
	comment, err := commentOf(r, size, at+length)
	n := 0
	for _, failed := range stored(r, at, length) {
		if n++; failed != nil {
			return whole, 0
		}
	}
	if err != nil || n != count {
		return whole, 0
	}
	return func(yield func(io.ReaderAt, int64) bool) {
		var directory []byte
		n, left := 0, count
		for b := range stored(r, at, length) {
			directory = append(directory, b...)
			n, left = n+1, left-1
			if n < PartSize && left > 0 {
				continue
			}
			if !yield(WithDirectory(r, size, appendEnd(directory, n, size, int64(len(directory)), false, comment))) {
				return
			}
			directory, n = nil, 0
		}
	}, count
}

// commentOf returns the comment of an archive whose directory ends at an offset.
func commentOf(r io.ReaderAt, size, at int64) (string, error) {
	end := make([]byte, size-at)
	if _, err := r.ReadAt(end, at); err != nil {
		return "", err
	}
	i := bytes.LastIndex(end, []byte(EndSignature))
	if i < 0 || len(end)-i < EndSize || int(le.Uint16(end[i+20:])) != len(end)-i-EndSize {
		return "", io.ErrUnexpectedEOF
	}
	return string(end[i+EndSize:]), nil
}

// WithDirectory returns an archive of size bytes with another directory after them, and the size of both.
func WithDirectory(r io.ReaderAt, size int64, directory []byte) (io.ReaderAt, int64) {
	return &appended{r, size, directory}, size + int64(len(directory))
}

// An appended has bytes after those of another reader.
type appended struct {
	io.ReaderAt
	size int64
	tail []byte
}

func (a *appended) ReadAt(b []byte, at int64) (n int, err error) {
	if at < a.size {
		n, err = a.ReaderAt.ReadAt(b[:min(int64(len(b)), a.size-at)], at)
		if n == len(b) || int64(n) < a.size-at {
			return n, err
		}
	}
	more, err := bytes.NewReader(a.tail).ReadAt(b[n:], at+int64(n)-a.size)
	return n + more, err
}
