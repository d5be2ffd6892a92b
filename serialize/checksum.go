package serialize

import (
	"context"
	"hash/crc32"
	"iter"

	"github.com/h5dnn/h5dnn/dtype"
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

// Verified returns a Source that calls check with all its bytes whenever a read takes all
// of them in their order, and fails with the error of check. Reads of parts are not
// checked, because that would take reading everything.
func Verified(data storage.Source, check func(all []byte) error) storage.Source {
	v := &verified{data, check}
	if mapped, ok := data.(storage.MappedSource); ok {
		return &verifiedMapped{v, mapped}
	}
	return v
}

// VerifiedCRC is Verified for a CRC, which is computed block by block as elements are read:
// compare gets it.
func VerifiedCRC(data storage.Source, table *crc32.Table, compare func(sum uint32) error) storage.Source {
	v := &verifiedCRC{data, table, compare}
	if mapped, ok := data.(storage.MappedSource); ok {
		return &verifiedCRCMapped{v, mapped}
	}
	return v
}

type verifiedCRC struct {
	storage.Source
	table   *crc32.Table
	compare func(uint32) error
}

// crcBlock is a number of bytes that are still in a cache when their CRC is computed.
const crcBlock = 512 << 10

func (s *verifiedCRC) ReadView(dst []byte, t dtype.Type, v views.View) error {
	n := v.Len() * t.Size()
	if !v.Contiguous() || n != s.Len() || len(dst) < n {
		return s.Source.ReadView(dst, t, v)
	}
	sum := uint32(0)
	for at := 0; at < n; at += crcBlock {
		part := min(crcBlock, n-at)
		block := views.View{Shape: []int{part / t.Size()}, Stride: []int{1}, Offset: at / t.Size()}
		if err := s.Source.ReadView(dst[at:][:part], t, block); err != nil {
			return err
		}
		sum = crc32.Update(sum, s.table, dst[at:][:part])
	}
	return s.compare(sum)
}

// A verifiedCRCMapped source has mapped bytes.
type verifiedCRCMapped struct {
	*verifiedCRC
	mapped storage.MappedSource
}

func (s *verifiedCRCMapped) WithBytes(read func([]byte) error) error { return s.mapped.WithBytes(read) }

type verified struct {
	storage.Source
	check func([]byte) error
}

func (s *verified) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if err := s.Source.ReadView(dst, t, v); err != nil {
		return err
	}
	if n := v.Len() * t.Size(); v.Contiguous() && n == s.Len() {
		return s.check(dst[:n])
	}
	return nil
}

// A verifiedMapped source has mapped bytes.
type verifiedMapped struct {
	*verified
	mapped storage.MappedSource
}

func (s *verifiedMapped) WithBytes(read func([]byte) error) error { return s.mapped.WithBytes(read) }

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
