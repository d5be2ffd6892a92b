package tfbundle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

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

// A table is the bytes of an index.
type table []byte

var errTable = errors.New("the index is damaged")

// all calls do with every entry, in the order of keys.
func (t table) all(do func(key string, value []byte) error) error {
	if len(t) < footerSize || binary.LittleEndian.Uint64(t[len(t)-8:]) != tableMagic {
		return fmt.Errorf("not a table of LevelDB: %w", errTable)
	}
	footer := t[len(t)-footerSize:]
	_, _, rest, err := handle(footer)
	if err != nil {
		return err
	}
	at, size, _, err := handle(rest)
	if err != nil {
		return err
	}
	last, end := "", uint64(0)
	return t.block(at, size, func(_ string, value []byte) error {
		at, size, _, err := handle(value)
		if err != nil {
			return err
		}
		if at < end {
			return fmt.Errorf("block at %d begins before the end of another: %w", at, errTable)
		}
		end = at + size
		return t.block(at, size, func(key string, value []byte) error {
			if key <= last && last != "" {
				return fmt.Errorf("key %q comes after %q: %w", key, last, errTable)
			}
			last = key
			return do(key, value)
		})
	})
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

// block calls do with the entries of a block.
func (t table) block(at, size uint64, do func(key string, value []byte) error) error {
	b, err := t.content(at, size)
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

// content returns the bytes of a block, checked and decompressed.
func (t table) content(at, size uint64) ([]byte, error) {
	if at > uint64(len(t)) || size > uint64(len(t))-at || trailerSize > uint64(len(t))-at-size {
		return nil, fmt.Errorf("a block of %d bytes at %d in %d: %w", size, at, len(t), errTable)
	}
	b, trailer := t[at:at+size], t[at+size:][:trailerSize]
	if sum, want := masked(crc32.Checksum(t[at:at+size+1], castagnoli)), binary.LittleEndian.Uint32(trailer[1:]); sum != want && verifyChecksums {
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
