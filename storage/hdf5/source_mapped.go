package hdf5

import (
	"errors"
	"os"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ storage.ChunkedInPlace = (*source)(nil)
	_ storage.ChunkedInParts = (*source)(nil)
	_ storage.MappedSource   = mappedSource{}
)

// Shape implements [storage.Chunked].
func (s *source) Shape() []int { return s.shape }

// ChunkShape implements [storage.Chunked]. It returns nil if there are no chunks.
func (s *source) ChunkShape() []int {
	switch s.d.layout.class {
	case layoutChunked:
		return slices.Concat(s.d.Chunks, s.dims)
	case layoutVirtual:
		return s.virtualChunk()
	}
	return nil
}

// ReadsInPlace implements [storage.ChunkedInPlace].
func (s *source) ReadsInPlace() bool { return s.d.layout.class == layoutChunked }

// arrayStorage returns the storage of an array of s. Elements that are in the file as in
// memory can be accessed as bytes, too.
func (s *source) arrayStorage() storage.Storage {
	f := s.d.file
	asInMemory := s.convert == nil && s.memberOffset == 0 && s.count > 0 && s.count*s.size == s.bytes
	contiguous := s.d.layout.class == layoutContiguous && s.d.layout.address != undefined && len(s.d.External) == 0
	large := s.Len() > maxMapped || f.file == nil
	switch {
	case !asInMemory:
	case large && contiguous:
		return rangeSource{s, 0}
	case large && s.d.chunksAreRows():
		if size, err := s.d.chunkSize(); err == nil && size > 0 {
			return rangeSource{s, size}
		}
	case contiguous:
		return mappedSource{s}
	}
	return s
}

// A mappedSource is a contiguous dataset whose elements are mapped.
type mappedSource struct{ *source }

// WithBytes implements [storage.MappedSource].
func (s mappedSource) WithBytes(read func(b []byte) error) error {
	f := s.d.file
	m, err := f.mapped(s.d.layout.address, s.Len())
	if err == nil {
		err = m.WithBytes(read)
	}
	if errors.Is(err, os.ErrClosed) || errors.Is(err, storage.ErrState) && f.closed.Load() {
		err = errClosed
	}
	if err != nil {
		return f.fail(s.d.Path, err)
	}
	return nil
}
