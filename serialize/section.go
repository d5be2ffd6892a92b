package serialize

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Sections are parts of an Input as storages: mapped into memory if the input is a file
// on disk, else read through its io.ReaderAt. Formats whose elements are stored without
// compression use them.
type Sections struct {
	in      Input
	mapping *storage.Mapping // nil if in is not a file
	closed  atomic.Bool

	decoding sync.Mutex
	last     *[]byte // decompressed; see inflated
}

// Sections returns the sections of in, which it maps into memory if in is a file on disk.
func (in Input) Sections() (*Sections, error) {
	s := &Sections{in: in}
	if in.File() == nil {
		return s, nil
	}
	var err error
	s.mapping, err = storage.Map(in.File())
	return s, err
}

// Input returns what the sections are parts of.
func (s *Sections) Input() Input { return s.in }

// Release undoes [Input.Sections] without closing the input, when the file cannot be
// opened.
func (s *Sections) Release() {
	if s.mapping != nil {
		s.mapping.Close()
	}
}

// Close closes the input. Later reads of sections return an error of kind
// storage.ErrState. Closing twice does nothing.
func (s *Sections) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if s.mapping != nil {
		return errors.Join(s.mapping.Close(), s.in.Close())
	}
	return s.in.Close()
}

// Check returns an error of kind storage.ErrState if the input was closed.
func (s *Sections) Check() error {
	if s.closed.Load() {
		return fmt.Errorf("%s: the file is closed; open it again to read its arrays: %w", s.in.Name, storage.ErrState)
	}
	return nil
}

// Section returns the n bytes from offset at on as a Source.
func (s *Sections) Section(at, n int64) (storage.Source, error) {
	if at < 0 || n < 0 || at > s.in.Size || n > s.in.Size-at {
		return nil, fmt.Errorf("%d bytes at offset %d of a file of %d bytes: %w", n, at, s.in.Size, storage.ErrState)
	}
	if s.mapping != nil {
		return s.mapping.Range(at, n)
	}
	return &section{s, at, int(n)}, nil
}

// A section is a Source that reads part of a file through its io.ReaderAt.
type section struct {
	file *Sections
	at   int64
	len  int
}

func (s *section) Len() int               { return s.len }
func (s *section) Device() storage.Device { return storage.File(s.file.in.Name) }

func (s *section) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if !t.Valid() || !v.Within(s.len/t.Size()) || len(dst) < v.Len()*t.Size() {
		return fmt.Errorf("%s: %v%v reaches outside %d bytes: %w", s.file.in.Name, t, v.Shape, s.len, views.ErrShape)
	}
	if err := s.file.Check(); err != nil {
		return err
	}
	return s.read(dst[:v.Len()*t.Size()], t, v)
}

// read reads the bytes from the first element of v to the last at once, unless that
// is many more than v selects; then each index of the first axis by itself.
func (s *section) read(dst []byte, t dtype.Type, v views.View) error {
	if v.Len() == 0 {
		return nil
	}
	first, last := v.Bounds()
	n := (last - first + 1) * t.Size()
	if v.Contiguous() {
		return s.readAt(dst, first*t.Size())
	}
	if n > 1<<16 && n/4 > len(dst) {
		part := len(dst) / v.Shape[0]
		for i := range v.Shape[0] {
			row, err := v.Select(0, i)
			if err == nil {
				err = s.read(dst[i*part:][:part], t, row)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	span := make([]byte, n)
	if err := s.readAt(span, first*t.Size()); err != nil {
		return err
	}
	v.Offset -= first
	storage.Gather(dst, span, t, v)
	return nil
}

func (s *section) readAt(b []byte, at int) error {
	if err := s.file.in.ReadFull(b, s.at+int64(at)); err != nil {
		return fmt.Errorf("%s: %w", s.file.in.Name, err)
	}
	return nil
}
