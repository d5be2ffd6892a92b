package serialize

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// maxRatio bounds what deflate makes of one byte: a match of 258 bytes takes two
// bits at the least (zlib.net/zlib_tech.html).
const maxRatio = 1032

// Inflated returns a Source of what follows the first skip bytes of a stream compressed with
// deflate, as in zip archives: size bytes when decompressed, which open starts to do, and
// packed bytes in the file.
func (s *Sections) Inflated(name string, open func() io.ReadCloser, packed, size int64, skip int) (storage.Source, error) {
	if size/maxRatio > packed {
		return nil, fmt.Errorf("declares %d bytes, more than %d can be decompressed to: %w", size, packed, storage.ErrState)
	}
	return &inflated{file: s, name: name, open: open, packed: int(packed), size: int(size), skip: skip}, nil
}

// An inflated stream is a Source that is decompressed as it is read, if that is in order. Other
// reads decompress it as a whole. The result is kept for the next read until another stream of the file is
// decompressed so and the garbage collector needs the memory. What takes more memory than the
// budget allows is decompressed in order only.
type inflated struct {
	file         *Sections
	name         string
	open         func() io.ReadCloser
	packed, size int // bytes in the file and when decompressed
	skip         int
	kept         atomic.Pointer[weak.Pointer[[]byte]]

	mu      sync.Mutex
	stream  io.ReadCloser // nil if it is not decompressed in order
	at      int           // the position of stream
	rewinds int
}

func (s *inflated) Len() int               { return s.size - s.skip }
func (s *inflated) Device() storage.Device { return storage.File(s.file.in.Name) }

func (s *inflated) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if !t.Valid() || !v.Within(s.Len()/t.Size()) || len(dst) < v.Len()*t.Size() {
		return fmt.Errorf("%s: %v%v reaches outside %d bytes: %w", s.name, t, v.Shape, s.Len(), views.ErrShape)
	}
	if err := s.file.Check(); err != nil {
		return err
	}
	over := s.file.in.Budget.Allocate(s.Len(), s.packed)
	if over != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.readInOrder(dst, t, v, over); err != nil {
			return fmt.Errorf("%s: %s: %w", s.file.in.Name, s.name, err)
		}
		return nil
	}
	if done, err := s.readNext(dst, t, v); done || err != nil {
		return err
	}
	b, err := s.decode()
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.file.in.Name, s.name, err)
	}
	storage.Gather(dst, b, t, v)
	return nil
}

// readNext decompresses consecutive elements that are behind those of the last read, or the
// first ones, and reports whether it did.
func (s *inflated) readNext(dst []byte, t dtype.Type, v views.View) (done bool, err error) {
	if !v.Contiguous() || s.decoded() != nil {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.Offset > 0 && s.at > s.skip+v.Offset*t.Size() {
		return false, nil
	}
	s.rewinds = 0 // of a pass over all elements
	if err := s.readInOrder(dst, t, v, nil); err != nil {
		return true, fmt.Errorf("%s: %s: %w", s.file.in.Name, s.name, err)
	}
	return true, nil
}

// decoded returns the decompressed bytes after the header if they are kept, or nil.
func (s *inflated) decoded() []byte {
	if kept := s.kept.Load(); kept != nil {
		if b := kept.Value(); b != nil {
			return *b
		}
	}
	return nil
}

// maxRewinds is how often a stream is decompressed from its start, for one pass or a few
// over its elements.
const maxRewinds = 8

// readInOrder decompresses the bytes from the first selected element to the last, from the
// end of the last read on if that is before them. For a view that needs too many passes or
// too much memory, it returns the error over.
func (s *inflated) readInOrder(dst []byte, t dtype.Type, v views.View, over error) error {
	if v.Len() == 0 {
		return nil
	}
	first, last := v.Bounds()
	from, n := first*t.Size(), (last-first+1)*t.Size()
	if !v.Contiguous() && n > 4*v.Len()*t.Size() && s.file.in.Budget.Allocate(n, v.Len()*t.Size()) != nil {
		return over
	}
	if s.stream == nil || s.at > s.skip+from {
		if s.rewinds++; s.rewinds > maxRewinds {
			return over
		}
		s.rewind()
	}
	skipped, err := io.CopyN(io.Discard, checkedReader{s.stream, s.file}, int64(s.skip+from-s.at))
	if s.at += int(skipped); err != nil {
		return s.truncated(err)
	}
	span := dst
	if !v.Contiguous() {
		span = make([]byte, n)
	}
	read, err := io.ReadFull(checkedReader{s.stream, s.file}, span[:n])
	if s.at += read; err != nil {
		return s.truncated(err)
	}
	if !v.Contiguous() {
		v.Offset -= first
		storage.Gather(dst, span, t, v)
	}
	return s.checkEnd()
}

// rewind opens the stream at its start.
func (s *inflated) rewind() {
	if s.stream != nil {
		s.stream.Close()
	}
	s.at, s.stream = 0, s.open()
}

// checkEnd is endOf for the stream, once its last byte has been read.
func (s *inflated) checkEnd() error {
	if s.at < s.size {
		return nil
	}
	return s.endOf(s.stream)
}

// endOf reads the end of a stream after its last byte, where its checksum is compared.
func (s *inflated) endOf(r io.Reader) error {
	switch _, err := io.ReadFull(r, make([]byte, 1)); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("more than the %d bytes it declares: %w", s.size, storage.ErrState)
}

func (s *inflated) truncated(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// A checkedReader stops when its file is closed, or its context is done.
type checkedReader struct {
	io.Reader
	file *Sections
}

func (c checkedReader) Read(b []byte) (int, error) {
	if err := c.file.Check(); err != nil {
		return 0, err
	}
	if err := c.file.in.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(b)
}

// decode returns the decompressed bytes after the header.
func (s *inflated) decode() ([]byte, error) {
	s.file.decoding.Lock()
	defer s.file.decoding.Unlock()
	if b := s.decoded(); b != nil {
		return b, nil
	}
	r := s.open()
	defer r.Close()
	const large = 16 << 20
	if s.file.last = nil; s.size >= large {
		runtime.GC() // frees the stream before, which may be as large
	}
	b := make([]byte, s.size) // checked against the compressed size
	if _, err := io.ReadFull(checkedReader{r, s.file}, b); err != nil {
		return nil, err
	}
	if err := s.endOf(r); err != nil {
		return nil, err
	}
	b = b[s.skip:]
	kept := weak.Make(&b)
	s.kept.Store(&kept)
	s.file.last = &b
	return b, nil
}
