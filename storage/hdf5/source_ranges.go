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

var _ storage.Uncompressed = rangeSource{}

// A rangeSource reads ranges of bytes of a dataset whose elements are in the file as in
// memory: contiguous, or in chunks of whole rows without filters. It serves files that
// are not mapped, and those too large to stay mapped, for which reading is cheaper than
// mapping pages again on every access.
type rangeSource struct {
	*source
	ranges *prefetched
}

// chunksAreRows reports whether chunks are whole rows without filters.
func (d *Dataset) chunksAreRows() bool {
	return d.layout.class == layoutChunked && len(d.Filters) == 0 && slices.Equal(d.Chunks[1:], d.Shape[1:])
}

// ReadAt implements [io.ReaderAt] for the bytes of all elements. It reads whole elements.
func (s rangeSource) ReadAt(b []byte, at int64) (int, error) {
	if err := s.readRange(b, int(at), nil); err != nil {
		return 0, s.d.file.fail(s.d.Path, err)
	}
	return len(b), nil
}

// ReadRanges implements [storage.Uncompressed].
func (s rangeSource) ReadRanges(ranges iter.Seq2[int, []byte]) error {
	prefetched := s.ranges.load()
	readAll := func(file []byte) error {
		for at, b := range ranges {
			from := file
			if !prefetched.contain(at, len(b)) {
				from = nil
			}
			if err := s.readRange(b, at, from); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.withFile(len(prefetched) > 0, readAll); err != nil {
		return s.d.file.fail(s.d.Path, err)
	}
	return nil
}

// withFile calls read with the mapped file, or with nil if mapped is false.
func (s rangeSource) withFile(mapped bool, read func(file []byte) error) error {
	if !mapped {
		return read(nil)
	}
	if s.d.layout.class == layoutChunked {
		if _, err := s.d.index(); err != nil { // read before the mapping is locked
			return err
		}
	}
	all, err := s.d.file.mapped(0, s.d.file.size-s.d.file.super.at)
	if err != nil {
		return err
	}
	return all.WithBytes(read)
}

// readRange fills b with bytes from at on, from the mapped file unless that is nil.
func (s rangeSource) readRange(b []byte, at int, file []byte) error {
	if !s.contains(at, len(b)) {
		return fmt.Errorf("bytes %d to %d of %d: %w", at, at+len(b), s.Len(), io.ErrUnexpectedEOF)
	}
	return s.eachExtent(at, len(b), func(from, n int, address uint64) error {
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
		return s.d.file.advise(address, n, unix.MADV_WILLNEED)
	})
	if keepMapped {
		s.ranges.add(at, n)
	}
}

// Release implements [storage.Uncompressed].
func (s rangeSource) Release(at, n int) {
	if s.contains(at, n) && s.ranges.remove(at, n) {
		s.advise(at, n, unix.MADV_DONTNEED)
	}
}

// advise gives the system advice about the pages of n bytes from at on.
func (s rangeSource) advise(at, n, advice int) {
	s.eachExtent(at, n, func(_, n int, address uint64) error { return s.d.file.advise(address, n, advice) })
}

// eachExtent calls do for the contiguous extents of the file that hold n bytes from at
// on. The address of bytes that were never written is undefined.
func (s rangeSource) eachExtent(at, n int, do func(at, n int, address uint64) error) error {
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
