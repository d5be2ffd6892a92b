package tfbundle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/snappy"

	"github.com/h5dnn/h5dnn/storage"
)

// The index is a table of LevelDB (leveldb/doc/table_format.md):
//
//	blocks of entries, each followed by a byte of compression and a masked CRC-32C
//	a block whose values are handles of the blocks before it
//	footer: handles of a block of no use here and of that block, padding, magic
//
// A handle is an offset and a size, as varints. In a block, keys share beginnings with
// the key before them:
//
//	varint bytes shared, varint bytes not shared, varint size of the value, bytes, value
//
// and offsets of keys that share nothing are at the end, as uint32s, and their number.
const (
	footerSize  = 48
	tableMagic  = 0xdb4775248b80fb57
	trailerSize = 5

	maxIndex = 1 << 30 // bytes
	maxBlock = 1 << 28 // bytes, decompressed
	maxKey   = 1 << 16
)

var verifyChecksums = true // but while fuzzing

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is how checksums of checksums are avoided (leveldb/util/crc32c.h).
func masked(sum uint32) uint32 { return (sum>>15 | sum<<17) + 0xa282ead8 }

// A table is an index, which is read block by block.
type table struct {
	r    io.ReaderAt
	size uint64
	data []byte // of a block of entries
}

var errTable = errors.New("the index is damaged")

// all calls do with every entry, in the order of keys.
func (t *table) all(do func(key string, value []byte) error) error {
	if t.size < footerSize {
		return fmt.Errorf("not a table of LevelDB: %w", errTable)
	}
	var footer [footerSize]byte
	if err := t.read(footer[:], t.size-footerSize); err != nil {
		return err
	}
	if binary.LittleEndian.Uint64(footer[footerSize-8:]) != tableMagic {
		return fmt.Errorf("not a table of LevelDB: %w", errTable)
	}
	_, _, rest, err := handle(footer[:])
	if err != nil {
		return err
	}
	at, size, _, err := handle(rest)
	if err != nil {
		return err
	}
	last, end := "", uint64(0)
	return t.block(at, size, new([]byte), func(_ string, value []byte) error {
		at, size, _, err := handle(value)
		if err != nil {
			return err
		}
		if at < end {
			return fmt.Errorf("block at %d begins before the end of another: %w", at, errTable)
		}
		end = at + size
		return t.block(at, size, &t.data, func(key string, value []byte) error {
			if key <= last && last != "" {
				return fmt.Errorf("key %q comes after %q: %w", key, last, errTable)
			}
			last = key
			return do(key, value)
		})
	})
}

// read reads all of b at an offset.
func (t *table) read(b []byte, at uint64) error {
	_, err := io.ReadFull(io.NewSectionReader(t.r, int64(at), int64(len(b))), b)
	return err
}

// handle reads a handle.
func handle(b []byte) (at, size uint64, rest []byte, err error) {
	at, n := binary.Uvarint(b)
	if n > 0 {
		var m int
		size, m = binary.Uvarint(b[n:])
		n += m
		if m > 0 {
			return at, size, b[n:], nil
		}
	}
	return 0, 0, nil, fmt.Errorf("a handle of a block has no end: %w", errTable)
}

// block reads a block into a buffer, and calls do with its entries.
func (t *table) block(at, size uint64, buffer *[]byte, do func(key string, value []byte) error) error {
	b, err := t.content(at, size, buffer)
	if err != nil {
		return err
	}
	if len(b) < 4 {
		return fmt.Errorf("a block of %d bytes: %w", len(b), errTable)
	}
	restarts := uint64(binary.LittleEndian.Uint32(b[len(b)-4:]))
	if restarts > uint64(len(b)-4)/4 {
		return fmt.Errorf("a block of %d bytes with %d restarts: %w", len(b), restarts, errTable)
	}
	b = b[:uint64(len(b))-4-4*restarts]
	var key []byte
	for len(b) > 0 {
		var sizes [3]uint64
		for i := range sizes {
			x, n := binary.Uvarint(b)
			if n <= 0 {
				return fmt.Errorf("an entry has no end: %w", errTable)
			}
			sizes[i], b = x, b[n:]
		}
		shared, own, value := sizes[0], sizes[1], sizes[2]
		if shared > uint64(len(key)) || own > uint64(len(b)) || value > uint64(len(b))-own || shared+own > maxKey {
			return fmt.Errorf("an entry of %d+%d and %d bytes in %d: %w", shared, own, value, len(b), errTable)
		}
		key = append(key[:shared], b[:own]...)
		if err := do(string(key), b[own:own+value]); err != nil {
			return err
		}
		b = b[own+value:]
	}
	return nil
}

// content returns the bytes of a block, checked and decompressed, in a buffer that it may replace.
func (t *table) content(at, size uint64, buffer *[]byte) ([]byte, error) {
	if at > t.size || size > t.size-at || trailerSize > t.size-at-size {
		return nil, fmt.Errorf("a block of %d bytes at %d in %d: %w", size, at, t.size, errTable)
	}
	*buffer = slices.Grow((*buffer)[:0], int(size+trailerSize))[:size+trailerSize]
	if err := t.read(*buffer, at); err != nil {
		return nil, err
	}
	b, trailer := (*buffer)[:size], (*buffer)[size:]
	if sum, want := masked(crc32.Checksum((*buffer)[:size+1], castagnoli)), binary.LittleEndian.Uint32(trailer[1:]); sum != want && verifyChecksums {
		return nil, fmt.Errorf("block at %d: checksum %08x, want %08x: %w", at, sum, want, storage.ErrState)
	}
	switch trailer[0] {
	case 0:
		return b, nil
	case 1:
		if n, err := snappy.DecodedLen(b); err != nil || n > maxBlock || n > 1000*len(b) {
			return nil, fmt.Errorf("a block of %d bytes for %d of the file: %w", n, len(b), errTable)
		}
		return snappy.Decode(nil, b)
	}
	return nil, fmt.Errorf("a block with compression %d; known are none and Snappy: %w", trailer[0], errTable)
}
