package hdf5

import (
	"fmt"
	"io"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var _ storage.Direct = direct{}

// A direct source lies in a file that is too large to stay mapped, so that every
// access to it would map pages anew: reading costs less. Its elements lie there as
// in memory, all in a row or in chunks of whole rows without filters.
type direct struct{ *source }

// wholeRows reports whether a chunk is rows as they follow each other.
func (d *Dataset) wholeRows() bool {
	return d.layout.class == layoutChunked && len(d.Filters) == 0 && slices.Equal(d.Chunks[1:], d.Shape[1:])
}

// ReadAt implements [io.ReaderAt] for the bytes of all elements, of which b gets whole ones.
func (s direct) ReadAt(b []byte, at int64) (int, error) {
	if at < 0 || at > int64(s.Len()) || len(b) > s.Len()-int(at) {
		return 0, s.d.file.fail(s.d.Path, fmt.Errorf("bytes %d to %d of %d: %w", at, int(at)+len(b), s.Len(), io.ErrUnexpectedEOF))
	}
	err := s.stretches(int(at), len(b), func(from, n int, address uint64) error {
		into := b[from-int(at):][:n]
		if address == undefined {
			return s.source.readPieces(into, piece{views.View{Offset: from / s.size, Shape: []int{n / s.size}, Stride: []int{1}}, views.Of(n / s.size)})
		}
		return s.d.file.readAt(into, address)
	})
	if err != nil {
		return 0, s.d.file.fail(s.d.Path, err)
	}
	return len(b), nil
}

// Expect implements [storage.Direct].
func (s direct) Expect(at, n int) {
	if at < 0 || n < 0 || at > s.Len() || n > s.Len()-at {
		return
	}
	s.stretches(at, n, func(_, n int, address uint64) error { return s.d.file.willNeed(address, n) })
}

// stretches calls do for the parts of n bytes that lie in one stretch of the file
// each, at an address that is undefined where nothing was written.
func (s direct) stretches(at, n int, do func(at, n int, address uint64) error) error {
	if s.d.layout.class == layoutContiguous {
		return do(at, n, s.d.layout.address+uint64(at))
	}
	index, err := s.d.index()
	if err != nil {
		return err
	}
	size, err := s.d.chunkSize()
	if err != nil {
		return err
	}
	for end := at + n; at < end; {
		part := min(end-at, size-at%size)
		address := uint64(undefined)
		if e, stored := index.find(at / size); stored {
			address = e.address + uint64(at%size)
		}
		if err := do(at, part, address); err != nil {
			return err
		}
		at += part
	}
	return nil
}

// willNeed asks the system to fetch n bytes at an address into its cache.
func (f *File) willNeed(address uint64, n int) error {
	at, err := f.span(address, n)
	if err != nil {
		return err
	}
	m, err := f.mapping.of(f.file)
	if err != nil {
		return err
	}
	first := at - at%int64(unix.Getpagesize())
	part, err := m.Range(first, at+int64(n)-first)
	if err != nil {
		return err
	}
	return part.Use(func(b []byte) error { return unix.Madvise(b, unix.MADV_WILLNEED) })
}
