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
// arrays storage by storage, each in memory and compared with its checksum. At most one
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

func (s *stream) full(b []byte) error {
	n, err := io.ReadFull(s.r, b)
	s.at += int64(n)
	return cutShort(err)
}

// skipTo reads the padding up to a position.
func (s *stream) skipTo(at int64) error {
	n, err := io.CopyN(io.Discard, s.r, at-s.at)
	s.at += n
	return cutShort(err)
}

func (s *stream) read(yield func(serialize.Entry, error) bool) error {
	var head [preambleSize]byte
	if err := s.full(head[:]); err != nil {
		return fmt.Errorf("preamble: %w", err)
	}
	p, err := decodePreamble(head[:])
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(s.r, p.header)) // grows with what there is
	if s.at += int64(len(text)); err == nil && int64(len(text)) < p.header {
		err = io.ErrUnexpectedEOF
	}
	if err == nil && checksum(text) != p.headerDigest {
		err = ErrChecksum
	}
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	h, err := index.Parse(string(text))
	if err == nil {
		err = check(h, p)
	}
	if err != nil {
		return err
	}
	of := h.TensorsOf()
	var sums []byte
	for i, stored := range h.Storages {
		if err := s.skipTo(p.data() + int64(stored.Offset)); err != nil {
			return fmt.Errorf("storage %d: %w", i, err)
		}
		b, err := s.elements(stored.Bytes)
		var sum [sumSize]byte
		if err == nil {
			err = s.full(sum[:])
		}
		if want := binary.LittleEndian.Uint32(sum[:]); err == nil && checksum(b) != want {
			err = fmt.Errorf("CRC-32C %08x, want %08x: %w", checksum(b), want, ErrChecksum)
		}
		if err != nil {
			return fmt.Errorf("storage %d (%s): %w", i, h.NameOf(i), err)
		}
		sums = append(sums, sum[:]...)
		if !yieldStorage(h, i, of[i], b, s.budget, yield) {
			return nil
		}
	}
	if err := s.skipTo(p.length - endSize); err != nil {
		return fmt.Errorf("end marker: %w", err)
	}
	var end [endSize]byte
	if err := s.full(end[:]); err != nil {
		return fmt.Errorf("end marker: %w", err)
	}
	if want, err := decodeEnd(end[:], p.length); err != nil || want != checksum(sums) {
		return fmt.Errorf("checksums do not fit the end marker: %w", ErrChecksum)
	}
	return nil
}

// elements reads n bytes into memory that grows with what there is.
func (s *stream) elements(n int) ([]byte, error) {
	const step = 16 << 20
	if err := s.budget.Allocate(n, 0); err != nil {
		return nil, err
	}
	b := make([]byte, 0, min(n, step))
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

// yieldStorage yields tensors of a storage that is in memory.
func yieldStorage(h *index.Header, i int, of []int, b []byte, budget *storage.Budget, yield func(serialize.Entry, error) bool) bool {
	in := serialize.Input{Options: serialize.Options{Budget: budget}}
	var source storage.Source
	if t, err := dtype.Parse(h.Storages[i].DType); err == nil {
		source = serialize.Normalize(serialize.AsSource(storage.Wrap(b)), t, binary.LittleEndian)
	}
	for _, k := range of {
		e, err := h.Entry(in, h.Tensors[k], source)
		if !yield(e, err) {
			return false
		}
	}
	return true
}
