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
	chunkSize int // in bytes; 0 if the dataset is contiguous
}

// chunksAreRows reports whether chunks are whole rows without filters.
func (d *Dataset) chunksAreRows() bool {
	return d.layout.class == layoutChunked && len(d.Filters) == 0 && slices.Equal(d.Chunks[1:], d.Shape[1:])
}

// ReadAt implements [io.ReaderAt] for the bytes of all elements. It reads whole elements.
func (s rangeSource) ReadAt(b []byte, at int64) (int, error) {
	if err := s.ReadRanges(func(yield func(int, []byte) bool) { yield(int(at), b) }); err != nil {
		return 0, err
	}
	return len(b), nil
}

// ReadRanges implements [storage.Uncompressed].
func (s rangeSource) ReadRanges(ranges iter.Seq2[int, []byte]) error {
	err := s.withDescriptor(func(fd uintptr) error {
		v := newVector(s.d.file, fd)
		defer v.release()
		for at, b := range ranges {
			if err := s.readRange(v, b, at); err != nil {
				return err
			}
		}
		return v.read()
	})
	if err != nil {
		return s.d.file.fail(s.d.Path, err)
	}
	return nil
}

// noDescriptor is the descriptor of a file that has none.
const noDescriptor = ^uintptr(0)

// withDescriptor calls read with the file's descriptor.
func (s rangeSource) withDescriptor(read func(fd uintptr) error) error {
	if s.d.file.file == nil {
		return read(noDescriptor)
	}
	return s.d.file.withDescriptor(read)
}

// readRange has v fill b with bytes from at on.
func (s rangeSource) readRange(v *vector, b []byte, at int) error {
	if !s.contains(at, len(b)) {
		return fmt.Errorf("bytes %d to %d of %d: %w", at, at+len(b), s.Len(), io.ErrUnexpectedEOF)
	}
	return s.eachExtent(at, len(b), func(start, n int, address uint64) error {
		into := b[start-at:][:n]
		if address == undefined {
			n /= s.size
			return s.source.readTo(into, views.Of(n), views.View{Offset: start / s.size, Shape: []int{n}, Stride: []int{1}})
		}
		return v.add(into, address)
	})
}

// contains reports whether the dataset has n bytes from at on.
func (s rangeSource) contains(at, n int) bool {
	return at >= 0 && n >= 0 && at <= s.Len() && n <= s.Len()-at
}

// Prefetch implements [storage.Uncompressed].
func (s rangeSource) Prefetch(at, n int) {
	if s.d.file.file == nil && s.d.file.remote == nil || !s.contains(at, n) {
		return
	}
	var ranges []storage.Range
	s.eachExtent(at, n, func(at, n int, address uint64) error {
		if s.d.file.remote != nil {
			if at, err := s.d.file.span(address, n); err == nil {
				ranges = append(ranges, storage.Range{At: at, Len: int64(n)})
			}
			return nil
		}
		if _, err := s.d.file.span(address, n); err == nil && !s.d.file.isCached(address, n) {
			s.d.file.willNeed(address, n)
		}
		return nil
	})
	if s.d.file.remote != nil {
		s.d.file.remote.Prefetch(ranges)
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
