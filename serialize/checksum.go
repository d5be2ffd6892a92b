package serialize

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Verifier is a File whose format stores checksums.
type Verifier interface {
	File
	// Verify reads everything and yields the name of each array with nil or the error
	// that was found in it. Errors of the file as a whole have the name "".
	Verify(ctx context.Context) iter.Seq2[string, error]
}

// Verify reads every array of f, compares the checksums that its format has, and yields the name
// of each array with nil or the error. Errors of the file as a whole have the name "".
func Verify(ctx context.Context, f File) iter.Seq2[string, error] {
	if v, ok := f.(Verifier); ok {
		return v.Verify(ctx)
	}
	return ReadAll(ctx, f)
}

// HasChecksums reports whether a file has checksums. Some formats have them in files of some
// kinds only, which their method HasChecksums says.
func HasChecksums(f File) bool {
	if some, ok := f.(interface{ HasChecksums() bool }); ok {
		return some.HasChecksums()
	}
	_, ok := f.(Verifier)
	return ok
}

// ReadAll reads every array of a file, and yields its name with nil or the error.
func ReadAll(ctx context.Context, f File) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range f.All() {
			switch {
			case err != nil:
			case e.Elements != nil && e.Elements.Values != nil:
				_, err = e.Elements.Values(e.Elements.View)
			case e.Elements == nil:
				for _, failed := range blocks.Elements(ctx, e.Array, blocks.Size) {
					err = failed
				}
			}
			if !yield(e.Name, err) {
				return
			}
		}
	}
}

// ErrChecksum is the kind of error, for errors.Is, of bytes that have changed since they
// were written.
var ErrChecksum = errors.New("wrong checksum")

// CompareChecksums returns an error of kind ErrChecksum if the CRC of what is named is not
// the one that the file has.
func CompareChecksums(name string, got, want uint32) error {
	if got != want {
		return fmt.Errorf("%s: checksum %08x, want %08x: %w", name, got, want, ErrChecksum)
	}
	return nil
}

// Verified returns a Source that computes the CRC of all bytes of data, after others whose CRC is
// before, whenever a read takes all of them in their order, or several do, one after the other. The
// last of them fails with the error of compare. Other reads are not checked, because that would take
// reading everything.
func Verified(data storage.Source, table *crc32.Table, before uint32, compare func(sum uint32) error) storage.Source {
	v := &verified{table: table, before: before, compare: compare}
	if mapped, ok := data.(storage.MappedSource); ok {
		return &verifiedMapped{mapped, v}
	}
	return &verifiedSource{data, v}
}

// A verified part has a checksum.
type verified struct {
	table   *crc32.Table
	before  uint32
	compare func(sum uint32) error // returns an error if the CRC is another one

	mu   sync.Mutex
	next int    // after the bytes that reads took one after the other from the first on
	sum  uint32 // of them
}

// read reads a view of data, block by block if it takes all bytes.
func (s *verified) read(data storage.Source, dst []byte, t dtype.Type, v views.View, block int) error {
	n := v.Len() * t.Size()
	if !v.Contiguous() || n == 0 || len(dst) < n {
		return data.ReadView(dst, t, v)
	}
	if n != data.Len() {
		if err := data.ReadView(dst, t, v); err != nil {
			return err
		}
		return s.follow(dst[:n], v.Offset*t.Size(), data.Len())
	}
	sum := s.before
	for at := 0; at < n; at += block {
		part := min(block, n-at)
		view := views.View{Shape: []int{part / t.Size()}, Stride: []int{1}, Offset: at / t.Size()}
		if err := data.ReadView(dst[at:][:part], t, view); err != nil {
			return err
		}
		sum = crc32.Update(sum, s.table, dst[at:][:part])
	}
	return s.compare(sum)
}

// follow adds bytes that were read at a position to the sum if they follow its bytes, or are the first.
func (s *verified) follow(b []byte, at, total int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at == 0 {
		s.next, s.sum = 0, s.before
	}
	if at != s.next {
		return nil
	}
	s.sum = crc32.Update(s.sum, s.table, b)
	if s.next += len(b); s.next < total {
		return nil
	}
	return s.compare(s.sum)
}

type verifiedSource struct {
	storage.Source
	*verified
}

func (s *verifiedSource) ReadView(dst []byte, t dtype.Type, v views.View) error {
	return s.read(s.Source, dst, t, v, s.Len())
}

// crcBlock is a number of bytes that are still in a cache when their CRC is computed.
const crcBlock = 512 << 10

// A verifiedMapped source has mapped bytes, whose blocks cost no more than the whole.
type verifiedMapped struct {
	storage.MappedSource
	*verified
}

func (s *verifiedMapped) ReadView(dst []byte, t dtype.Type, v views.View) error {
	return s.read(s.MappedSource, dst, t, v, crcBlock)
}

// TextChecksum returns the CRC of a text, of which it makes no copy.
func TextChecksum(text string, table *crc32.Table) (sum uint32) {
	var block [4096]byte
	for len(text) > 0 {
		n := copy(block[:], text)
		sum, text = crc32.Update(sum, table, block[:n]), text[n:]
	}
	return sum
}

// Checksum returns the CRC of all bytes of data, read block by block.
func Checksum(ctx context.Context, data storage.Source, table *crc32.Table) (uint32, error) {
	const block = 4 << 20
	sum := uint32(0)
	var buffer []byte
	for at := 0; at < data.Len(); at += block {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n := min(block, data.Len()-at)
		if buffer == nil {
			buffer = make([]byte, n)
		}
		if err := data.ReadView(buffer[:n], dtype.Uint8, views.View{Shape: []int{n}, Stride: []int{1}, Offset: at}); err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, table, buffer[:n])
	}
	return sum, nil
}
