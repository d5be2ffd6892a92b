package hdf5

import (
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ storage.ChunkedInPlace = (*source)(nil)
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
	asInMemory := s.convert == nil && s.memberOffset == 0 && s.count > 0 && s.count*s.size == s.d.View().Len()*s.d.Type.Size
	contiguous := s.d.layout.class == layoutContiguous && s.d.layout.address != undefined && len(s.d.External) == 0
	large := s.Len() > maxResident || f.file == nil
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

// touchedPerUse is the approximate number of bytes that a call of WithBytes accesses.
const touchedPerUse = 8 << 20

// WithBytes implements [storage.MappedSource].
func (s mappedSource) WithBytes(read func(b []byte) error) error {
	f := s.d.file
	m, err := f.mapped(s.d.layout.address, s.Len())
	if err == nil {
		err = m.WithBytes(read)
		s.d.countTouched(touchedPerUse)
	}
	if errors.Is(err, os.ErrClosed) || errors.Is(err, storage.ErrState) && f.closed.Load() {
		err = errClosed
	}
	if err != nil {
		return f.fail(s.d.Path, err)
	}
	return nil
}

// withMapped calls use with n mapped bytes of the dataset at an address. Reading them touches the
// given number of bytes of pages.
func (d *Dataset) withMapped(address uint64, n, touched int, use func([]byte)) error {
	m, err := d.file.mapped(address, n)
	if err != nil {
		return err
	}
	all, err := d.file.mapping.of(d.file.file)
	if err != nil {
		return err
	}
	size, err := d.storedSize()
	if err != nil {
		return err
	}
	err = m.WithBytes(func(b []byte) error {
		all.Touch(int(d.header.address), max(size, n), touched)
		use(b)
		return nil
	})
	d.countTouched(n + faultAround)
	return err
}

// A touchedBytes counts how many mapped bytes of a dataset were accessed since pages were
// last released: no more than it has.
type touchedBytes struct {
	mu       sync.Mutex
	bytes    int
	releases int64 // of pages before that
}

// add counts n bytes and returns by how many the count grew.
func (t *touchedBytes) add(n, most int, releases int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.releases != releases {
		t.releases, t.bytes = releases, 0
	}
	n = max(0, min(n, most-t.bytes))
	t.bytes += n
	return n
}

// countTouched counts n mapped bytes of the dataset as accessed.
func (d *Dataset) countTouched(n int) {
	if d.file.size <= maxResident {
		return
	}
	if most, err := d.storedSize(); err == nil {
		n = d.touched.add(n, most, d.file.mapping.releases.Load())
	}
	d.file.countTouched(n)
}
