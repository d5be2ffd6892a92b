package hdf5

import (
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/internal/prefetch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var _ storage.Uncompressed = rangeSource{}

// A rangeSource reads ranges of bytes of a dataset whose elements are in the file as in
// memory: contiguous, or in chunks of whole rows without filters. It serves files that
// are not mapped, and those too large to stay mapped, for which reading is cheaper than
// mapping pages again on every access.
type rangeSource struct {
	*source
	ranges    *prefetched
	chunkSize int // in bytes; 0 if the dataset is contiguous
}

// chunksAreRows reports whether chunks are whole rows without filters.
func (d *Dataset) chunksAreRows() bool {
	return d.layout.class == layoutChunked && len(d.Filters) == 0 && slices.Equal(d.Chunks[1:], d.Shape[1:])
}

// ReadAt implements [io.ReaderAt] for the bytes of all elements. It reads whole elements.
func (s rangeSource) ReadAt(b []byte, at int64) (int, error) {
	if err := s.withFile(false, func(from rangeReader) error { return s.readRange(b, int(at), from) }); err != nil {
		return 0, s.d.file.fail(s.d.Path, err)
	}
	return len(b), nil
}

// ReadRanges implements [storage.Uncompressed].
func (s rangeSource) ReadRanges(ranges iter.Seq2[int, []byte]) error {
	kept := s.ranges.load()
	err := s.withFile(len(kept) > 0, func(from rangeReader) error {
		var mapped mappedCopy
		for at, b := range ranges {
			if address, ok := kept.address(at, len(b)); ok {
				mapped.next(b, from.mapped[address:][:len(b)])
			} else if err := s.readRange(b, at, from); err != nil {
				return err
			}
		}
		mapped.next(nil, nil)
		return nil
	})
	if err != nil {
		return s.d.file.fail(s.d.Path, err)
	}
	return nil
}

// A mappedCopy copies ranges out of mapped pages. While it copies one, the processor loads
// the next: rows in random order are in other pages each time, which it does not foresee.
type mappedCopy struct {
	dst, src []byte // are copied next
}

// next copies the range before and keeps one for later.
func (c *mappedCopy) next(dst, src []byte) {
	prefetch.Copy(c.dst, c.src, src)
	c.dst, c.src = dst, src
}

// A rangeReader is what ranges of bytes are read from: the mapped file, as far as its
// pages are kept; its descriptor, as far as bytes are in the page cache; or else the File.
type rangeReader struct {
	mapped     []byte
	descriptor uintptr
}

// noDescriptor is the descriptor of a file that has none.
const noDescriptor = ^uintptr(0)

// withFile calls read with the file's descriptor and, if mapped is set, its mapping.
func (s rangeSource) withFile(mapped bool, read func(from rangeReader) error) error {
	if s.d.file.file == nil {
		return read(rangeReader{descriptor: noDescriptor})
	}
	if s.chunkSize > 0 {
		if _, err := s.d.index(); err != nil { // read before the mapping is locked
			return err
		}
	}
	return s.d.file.withDescriptor(func(fd uintptr) error {
		if !mapped {
			return read(rangeReader{descriptor: fd})
		}
		all, err := s.d.file.mapped(0, s.d.file.size-s.d.file.super.at)
		if err != nil {
			return err
		}
		return all.WithBytes(func(b []byte) error { return read(rangeReader{b, fd}) })
	})
}

// readRange fills b with bytes from at on.
func (s rangeSource) readRange(b []byte, at int, from rangeReader) error {
	if !s.contains(at, len(b)) {
		return fmt.Errorf("bytes %d to %d of %d: %w", at, at+len(b), s.Len(), io.ErrUnexpectedEOF)
	}
	return s.eachExtent(at, len(b), func(start, n int, address uint64) error {
		into := b[start-at:][:n]
		if address == undefined {
			return s.source.readTransfer(into, transfer{views.View{Offset: start / s.size, Shape: []int{n / s.size}, Stride: []int{1}}, views.Of(n / s.size)})
		}
		place, err := s.d.file.span(address, n)
		switch {
		case err != nil:
			return err
		case from.descriptor != noDescriptor && readCached(from.descriptor, into, place):
			return nil
		}
		return s.d.file.readAt(into, address)
	})
}

// contains reports whether the dataset has n bytes from at on.
func (s rangeSource) contains(at, n int) bool {
	return at >= 0 && n >= 0 && at <= s.Len() && n <= s.Len()-at
}

// Prefetch implements [storage.Uncompressed].
func (s rangeSource) Prefetch(at, n int, keepMapped bool) {
	s.eachKept(at, n, func(r keptRange) {
		if !s.d.file.isCached(r.address, r.n) {
			s.d.file.willNeed(r.address, r.n)
		}
		if keepMapped {
			s.ranges.add(r)
		}
	})
}

// Release implements [storage.Uncompressed]. Pages of several ranges are returned to
// the system together; see [prefetched].
func (s rangeSource) Release(at, n int) {
	s.eachKept(at, n, func(r keptRange) {
		if removed := s.ranges.remove(r); len(removed) > 0 {
			s.d.file.releaseRanges(removed)
		}
	})
}

// eachKept calls do for the extents of a range whose pages can be mapped.
func (s rangeSource) eachKept(at, n int, do func(r keptRange)) {
	if s.d.file.file == nil || !s.contains(at, n) {
		return
	}
	s.eachExtent(at, n, func(at, n int, address uint64) error {
		if _, err := s.d.file.span(address, n); err == nil {
			do(keptRange{byteRange{at, n}, address})
		}
		return nil
	})
}

// eachExtent calls do for the contiguous extents of the file that hold n bytes from at
// on. The address of bytes that were never written is undefined.
func (s rangeSource) eachExtent(at, n int, do func(at, n int, address uint64) error) error {
	size := s.chunkSize
	if size == 0 {
		return do(at, n, s.d.layout.address+uint64(at))
	}
	index, err := s.d.index()
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
