package hdf5

import (
	"errors"
	"os"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
)

// What a source tells those who plan their reading, and lends to those who pick
// single rows.

var (
	_ storage.Chunked      = (*source)(nil)
	_ storage.MappedSource = mappedSource{}
)

// Shape returns the shape as the source is addressed.
func (s *source) Shape() []int { return s.shape }

// ChunkShape returns the shape of one chunk, or nil if there are none.
func (s *source) ChunkShape() []int {
	if s.d.layout.class != layoutChunked {
		return nil
	}
	return slices.Concat(s.d.Chunks, s.dims)
}

// A mappedSource source is one whose elements lie in the file as they do in memory,
// one after the other.
type mappedSource struct{ *source }

// arrayStorage returns the storage that an array of s has.
func (s *source) arrayStorage() storage.Storage {
	asStored := s.convert == nil && s.memberOffset == 0 && s.count > 0 && s.count*s.size == s.d.View().Len()*s.d.Type.Size
	inRow := s.d.layout.class == layoutContiguous && s.d.layout.address != undefined && len(s.d.External) == 0
	switch {
	case !asStored:
	case s.Len() > maxResident && (inRow || s.d.wholeRows()):
		return direct{s, new(prefetched)}
	case inRow:
		return mappedSource{s}
	}
	return s
}

// useBytes is about how many bytes of the file a Use brings in.
const useBytes = 8 << 20

// Use implements storage.MappedSource.
func (p mappedSource) WithBytes(read func(b []byte) error) error {
	m, err := p.d.file.mapped(p.d.layout.address, p.Len())
	if err == nil {
		err = m.WithBytes(read)
		p.d.file.countTouched(min(p.Len(), useBytes))
	}
	if errors.Is(err, os.ErrClosed) || errors.Is(err, storage.ErrState) && p.d.file.mapping.isClosed() {
		err = errClosed
	}
	if err != nil {
		return p.d.file.fail(p.d.Path, err)
	}
	return nil
}
