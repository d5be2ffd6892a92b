package hdf5

import (
	"fmt"
	"io"
	"iter"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var _ storage.Uncompressed = direct{}

// A direct source lies in a file that is too large to stay mapped, so that every
// access to it would map pages anew: reading costs less. Its elements lie there as
// in memory, all in a row or in chunks of whole rows without filters.
type direct struct {
	*source
	ranges *prefetched
}

// wholeRows reports whether a chunk is rows as they follow each other.
func (d *Dataset) wholeRows() bool {
	return d.layout.class == layoutChunked && len(d.Filters) == 0 && slices.Equal(d.Chunks[1:], d.Shape[1:])
}

// ReadAt implements [io.ReaderAt] for the bytes of all elements, of which b gets whole ones.
func (s direct) ReadAt(b []byte, at int64) (int, error) {
	if err := s.read(b, int(at), nil); err != nil {
		return 0, s.d.file.fail(s.d.Path, err)
	}
	return len(b), nil
}

// ReadParts implements [storage.Uncompressed].
func (s direct) ReadRanges(parts iter.Seq2[int, []byte]) error {
	held := s.ranges.now()
	readAll := func(file []byte) error {
		for at, b := range parts {
			from := file
			if !held.has(at, len(b)) {
				from = nil
			}
			if err := s.read(b, at, from); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.using(len(held) > 0, readAll); err != nil {
		return s.d.file.fail(s.d.Path, err)
	}
	return nil
}

// using calls read with the whole file as it is mapped, or with nothing.
func (s direct) using(mapped bool, read func(file []byte) error) error {
	if !mapped {
		return read(nil)
	}
	if s.d.layout.class == layoutChunked {
		if _, err := s.d.index(); err != nil { // read now: to read it, the mapping must not be in use
			return err
		}
	}
	all, err := s.d.file.mapped(0, int(s.d.file.size-s.d.file.super.at))
	if err != nil {
		return err
	}
	return all.WithBytes(read)
}

// read fills b from a place on, out of the mapped file if there is one.
func (s direct) read(b []byte, at int, file []byte) error {
	if !s.inside(at, len(b)) {
		return fmt.Errorf("bytes %d to %d of %d: %w", at, at+len(b), s.Len(), io.ErrUnexpectedEOF)
	}
	return s.stretches(at, len(b), func(from, n int, address uint64) error {
		into := b[from-at:][:n]
		switch {
		case address == undefined:
			return s.source.readTransfer(into, transfer{views.View{Offset: from / s.size, Shape: []int{n / s.size}, Stride: []int{1}}, views.Of(n / s.size)})
		case file == nil:
			return s.d.file.readAt(into, address)
		}
		if _, err := s.d.file.span(address, n); err != nil {
			return err
		}
		copy(into, file[address:])
		return nil
	})
}

// inside reports whether there are n bytes from a place on.
func (s direct) inside(at, n int) bool { return at >= 0 && n >= 0 && at <= s.Len() && n <= s.Len()-at }

// Expect implements [storage.Uncompressed].
func (s direct) Prefetch(at, n int, hold bool) {
	if !s.inside(at, n) {
		return
	}
	s.advise(at, n, unix.MADV_WILLNEED)
	if hold {
		s.ranges.add(at, n)
	}
}

// Forget implements [storage.Uncompressed].
func (s direct) Release(at, n int) {
	if s.inside(at, n) && s.ranges.remove(at, n) {
		s.advise(at, n, unix.MADV_DONTNEED)
	}
}

// advise tells the system about the pages of n bytes from a place on.
func (s direct) advise(at, n, advice int) {
	s.stretches(at, n, func(_, n int, address uint64) error { return s.d.file.advise(address, n, advice) })
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

// largePage is the most that one touch brings in: the system's cache has large pages, too.
const largePage = 2 << 20

// advise tells the system about the pages of n bytes at an address, those about
// them that a touch may have brought in included.
func (f *File) advise(address uint64, n, advice int) error {
	at, err := f.span(address, n)
	if err != nil {
		return err
	}
	m, err := f.mapping.of(f.file)
	if err != nil {
		return err
	}
	first, end := at-at%int64(unix.Getpagesize()), at+int64(n)
	if advice == unix.MADV_DONTNEED {
		first, end = max(first-largePage, 0), min(end+largePage, int64(m.Len()))
	}
	part, err := m.Range(first, end-first)
	if err != nil {
		return err
	}
	return part.WithBytes(func(b []byte) error { return unix.Madvise(b, advice) })
}
