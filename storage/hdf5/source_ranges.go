package hdf5

import (
	"fmt"
	"io"
	"iter"
	"slices"

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
	prefetched := s.ranges.load()
	err := s.withFile(len(prefetched) > 0, func(from rangeReader) error {
		for at, b := range ranges {
			if err := s.readRange(b, at, from.within(prefetched, at, len(b))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return s.d.file.fail(s.d.Path, err)
	}
	return nil
}

// A rangeReader is what ranges of bytes are read from: the mapped file, its descriptor
// as far as bytes are in the page cache, or, if there is neither, the File.
type rangeReader struct {
	mapped     []byte
	descriptor uintptr
}

// noDescriptor is the descriptor of a file that has none.
const noDescriptor = ^uintptr(0)

// within returns r, without the mapped file if n bytes from an offset on are not in set.
func (r rangeReader) within(set byteRanges, at, n int) rangeReader {
	if r.mapped != nil && !set.contain(at, n) {
		r.mapped = nil
	}
	return r
}

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
		case from.mapped != nil:
			copy(into, from.mapped[address:])
			return nil
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
	if s.d.file.file == nil || !s.contains(at, n) {
		return
	}
	s.eachExtent(at, n, func(_, n int, address uint64) error {
		if s.d.file.isCached(address, n) {
			return nil
		}
		return s.d.file.willNeed(address, n)
	})
	if keepMapped {
		s.ranges.add(at, n)
	}
}

// Release implements [storage.Uncompressed]. Pages of several ranges are returned to
// the system together; see [prefetched].
func (s rangeSource) Release(at, n int) {
	var extents []byteRange
	for _, r := range s.ranges.remove(at, n) {
		s.eachExtent(r.at, r.n, func(_, n int, address uint64) error {
			at, err := s.d.file.span(address, n)
			if err == nil {
				extents = append(extents, byteRange{int(at), n})
			}
			return nil
		})
	}
	if len(extents) > 0 {
		s.d.file.releaseRanges(extents)
	}
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
