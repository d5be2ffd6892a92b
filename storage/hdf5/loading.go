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
	_ storage.Chunked = (*source)(nil)
	_ storage.Lender  = plain{}
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

// A plain source is one whose elements lie in the file as they do in memory,
// one after the other.
type plain struct{ *source }

// data returns the storage that an array of s has.
func (s *source) data() storage.Storage {
	asStored := s.convert == nil && s.at == 0 && s.total > 0 && s.total*s.size == s.d.View().Len()*s.d.Type.Size
	inRow := s.d.layout.class == layoutContiguous && s.d.layout.address != undefined && len(s.d.External) == 0
	switch {
	case !asStored:
	case s.Len() > keepMapped && (inRow || s.d.wholeRows()):
		return direct{s, new(held)}
	case inRow:
		return plain{s}
	}
	return s
}

// picked is about how many bytes of the file a Use brings in.
const picked = 8 << 20

// Use implements storage.Lender.
func (p plain) Use(read func(b []byte) error) error {
	m, err := p.d.file.mapped(p.d.layout.address, p.Len())
	if err == nil {
		err = m.Use(read)
		p.d.file.touch(min(p.Len(), picked))
	}
	if errors.Is(err, os.ErrClosed) || errors.Is(err, storage.ErrState) && p.d.file.mapping.isClosed() {
		err = errClosed
	}
	if err != nil {
		return p.d.file.fail(p.d.Path, err)
	}
	return nil
}
