package npy

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A data is the content of an open file: mapped if it is a file on disk, else read
// through its io.ReaderAt.
type data struct {
	in      serialize.Input
	mapping *storage.Mapping // nil if in is no file
	closed  atomic.Bool
}

func newData(in serialize.Input) (*data, error) {
	d := &data{in: in}
	if in.File() == nil {
		return d, nil
	}
	var err error
	d.mapping, err = storage.Map(in.File())
	return d, err
}

// release gives back what newData took, when the file could not be opened.
func (d *data) release() {
	if d.mapping != nil {
		d.mapping.Close()
	}
}

// Close closes the file. Arrays that are read later fail.
func (d *data) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	if d.mapping != nil {
		return errors.Join(d.mapping.Close(), d.in.Close())
	}
	return d.in.Close()
}

// span returns the n bytes from at as a Source.
func (d *data) span(at, n int64) (storage.Source, error) {
	if d.mapping != nil {
		return d.mapping.Range(at, n)
	}
	if at < 0 || n < 0 || at > d.in.Size || n > d.in.Size-at {
		return nil, fmt.Errorf("%s: %d bytes at %d of %d: %w", d.in.Name, n, at, d.in.Size, storage.ErrState)
	}
	return &section{d, at, int(n)}, nil
}

// A section is a Source that reads part of a file through its io.ReaderAt.
type section struct {
	data *data
	at   int64
	len  int
}

func (s *section) Len() int               { return s.len }
func (s *section) Device() storage.Device { return storage.File(s.data.in.Name) }

func (s *section) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if !t.Valid() || !v.Within(s.len/t.Size()) || len(dst) < v.Len()*t.Size() {
		return fmt.Errorf("%s: %v%v reaches outside %d bytes: %w", s.data.in.Name, t, v.Shape, s.len, views.ErrShape)
	}
	if s.data.closed.Load() {
		return fmt.Errorf("%s: the file is closed; open it again to read its arrays: %w", s.data.in.Name, storage.ErrState)
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
	if n, err := s.data.in.ReadAt(b, s.at+int64(at)); n < len(b) {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("%s: %w", s.data.in.Name, err)
	}
	return nil
}
