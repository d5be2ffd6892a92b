package native

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/index"
	"github.com/h5dnn/h5dnn/storage"
)

// Read reads a file from its first byte to its last, such as from a pipe, and yields the
// arrays storage by storage, each in host memory and compared with its checksum. At most one
// storage is read ahead. After an error nothing follows; what came before is intact. Without
// a budget, storages may take what the default one allows.
func Read(r io.Reader, budget *storage.Budget) iter.Seq2[serialize.Entry, error] {
	return func(yield func(serialize.Entry, error) bool) {
		s := stream{r: r, budget: budget}
		if err := s.read(yield); err != nil {
			yield(serialize.Entry{}, err)
		}
	}
}

type stream struct {
	r      io.Reader
	at     int64
	budget *storage.Budget
}

// full reads len(b) bytes.
func (s *stream) full(b []byte) error {
	n, err := io.ReadFull(s.r, b)
	s.at += int64(n)
	return truncated(err)
}

// skipTo reads the padding up to a position.
func (s *stream) skipTo(at int64) error {
	n, err := io.CopyN(io.Discard, s.r, at-s.at)
	s.at += n
	return truncated(err)
}

// truncated returns the error of a read that must not end early.
func truncated(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (s *stream) read(yield func(serialize.Entry, error) bool) error {
	p, h, err := s.header()
	if err != nil {
		return err
	}
	var sums []byte
	for i, stored := range h.Storages {
		b, sum, err := s.storage(p, stored)
		if err != nil {
			return fmt.Errorf("storage %d (%s): %w", i, h.Name(i), err)
		}
		sums = binary.LittleEndian.AppendUint32(sums, sum)
		if !s.yieldTensors(h, i, b, yield) {
			return nil
		}
	}
	return s.end(p, checksum(sums))
}

// header reads the preamble and the header.
func (s *stream) header() (p preamble, h *index.Header, err error) {
	var head [preambleSize]byte
	if err := s.full(head[:]); err != nil {
		return p, nil, fmt.Errorf("preamble: %w", err)
	}
	if p, err = decodePreamble(head[:]); err != nil {
		return p, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(s.r, p.header)) // grows with what there is
	if s.at += int64(len(text)); err == nil && int64(len(text)) < p.header {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return p, nil, fmt.Errorf("header: %w", err)
	}
	if err := serialize.CompareChecksums("header", checksum(text), p.headerDigest); err != nil {
		return p, nil, err
	}
	if h, err = index.Parse(string(text)); err == nil {
		err = check(h, p)
	}
	return p, h, err
}

// storage reads the bytes of a storage, and compares them with the checksum after them.
func (s *stream) storage(p preamble, stored index.Storage) (b []byte, sum uint32, err error) {
	if err := s.skipTo(p.data() + int64(stored.Offset)); err != nil {
		return nil, 0, err
	}
	if b, err = s.elements(stored.Bytes); err != nil {
		return nil, 0, err
	}
	var word [sumSize]byte
	if err := s.full(word[:]); err != nil {
		return nil, 0, err
	}
	sum = binary.LittleEndian.Uint32(word[:])
	return b, sum, serialize.CompareChecksums("elements", checksum(b), sum)
}

// end reads the end marker, and compares it with the checksum of all checksums.
func (s *stream) end(p preamble, sums uint32) error {
	var end [endSize]byte
	err := s.skipTo(p.length - endSize)
	if err == nil {
		err = s.full(end[:])
	}
	if err != nil {
		return fmt.Errorf("end marker: %w", err)
	}
	want, err := decodeEnd(end[:], p.length)
	if err != nil {
		return err
	}
	return serialize.CompareChecksums("checksums of all storages", sums, want)
}

// elements reads n bytes into memory that grows with what there is.
func (s *stream) elements(n int) ([]byte, error) {
	const step = 16 << 20
	if err := s.budget.Allocate(n, 0); err != nil {
		return nil, err
	}
	const tiny = 16 // smaller allocations may not be aligned for every type
	b := make([]byte, 0, max(tiny, min(n, step)))
	for len(b) < n {
		part := min(step, n-len(b))
		b = slices.Grow(b, part)
		if err := s.full(b[len(b):][:part]); err != nil {
			return nil, err
		}
		b = b[:len(b)+part]
	}
	return b, nil
}

// yieldTensors yields the users of storage i, which is in memory.
func (s *stream) yieldTensors(h *index.Header, i int, b []byte, yield func(serialize.Entry, error) bool) bool {
	in := serialize.Input{Options: serialize.Options{Budget: s.budget}}
	if typ, err := dtype.Parse(h.Storages[i].DType); err == nil {
		serialize.NormalizeBytes(b, typ, binary.LittleEndian)
	}
	data := storage.Wrap(b)
	for _, t := range h.Users(i) {
		e, err := h.Entry(in, t, data)
		if !yield(e, err) {
			return false
		}
	}
	return true
}
