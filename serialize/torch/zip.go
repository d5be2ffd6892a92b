package torch

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/storage"
)

// A record is a file in a zip archive. PyTorch stores it without compression, and reads
// archives that other programs have compressed.
//
// Checkpoints have tens of thousands of them. Package archive/zip takes several times as
// long to list those, and asks for each local header by itself.
type record struct {
	name   string
	header int64 // offset of the local header
	data   int64 // offset of the bytes
	size   int64 // in the file
	whole  int64 // size without compression
	method uint16
	crc    uint32 // 0 if unknown
	err    error  // of locate
}

const (
	deflated       = 8      // a method of compression
	followedBySize = 1 << 3 // flag: the sizes and the checksum are behind the bytes
)

// The structures of zip archives (PKWARE APPNOTE 6.3.9, sections 4.3.7 to 4.3.16).
const (
	localSignature     = "PK\x03\x04"
	descriptor         = "PK\x07\x08"
	directorySignature = "PK\x01\x02"
	end64Signature     = "PK\x06\x06"
	locatorSignature   = "PK\x06\x07"
	endSignature       = "PK\x05\x06"

	localSize, entrySize, end64Size, locatorSize, endSize = 30, 46, 56, 20, 22
	extra64                                               = 1 // id of the extra field with sizes of 64 bits
)

const maxRecords = 1 << 20

var le = binary.LittleEndian

// readDirectory lists the records of an archive of size bytes by its central directory.
// They lie inside of the file and do not overlap. Their data is found by locate.
func readDirectory(r io.ReaderAt, size int64) ([]record, error) {
	at, length, count, err := findDirectory(r, size)
	if err != nil {
		return nil, err
	}
	b := make([]byte, length)
	if _, err := r.ReadAt(b, at); err != nil {
		return nil, err
	}
	records := make([]record, 0, count)
	text := string(b) // of which names are parts
	for len(b) >= entrySize && string(b[:4]) == directorySignature {
		x, rest, err := parseEntry(b, text[len(text)-len(b):])
		if err != nil {
			return nil, err
		}
		if b = rest; len(records) == maxRecords {
			return nil, fmt.Errorf("more than %d records in the archive", maxRecords)
		}
		records = append(records, x)
	}
	if len(records) != count {
		return nil, fmt.Errorf("the archive's directory has %d of %d records: %w", len(records), count, storage.ErrState)
	}
	return records, checkOverlap(records, at)
}

// findDirectory returns where the central directory is. It is at the end, after which
// PyTorch writes no comment.
func findDirectory(r io.ReaderAt, size int64) (at, length int64, count int, err error) {
	damaged := func(what string) (int64, int64, int, error) {
		return 0, 0, 0, fmt.Errorf("%s; if the file is truncated, h5dnn repair saves its intact arrays: %w", what, storage.ErrState)
	}
	tail := make([]byte, min(size, 1<<16+endSize+locatorSize))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil {
		return 0, 0, 0, err
	}
	i := strings.LastIndex(string(tail), endSignature)
	if i < 0 || len(tail)-i < endSize {
		return damaged("the archive has no directory")
	}
	end := tail[i:]
	n, length, at := uint64(le.Uint16(end[10:])), int64(le.Uint32(end[12:])), int64(le.Uint32(end[16:]))
	if i >= locatorSize && string(tail[i-locatorSize:][:4]) == locatorSignature {
		var big [end64Size]byte
		if _, err := r.ReadAt(big[:], int64(le.Uint64(tail[i-locatorSize+8:]))); err != nil || string(big[:4]) != end64Signature {
			return damaged("the archive's directory is not where it should be")
		}
		n, length, at = le.Uint64(big[32:]), int64(le.Uint64(big[40:])), int64(le.Uint64(big[48:]))
	}
	if at < 0 || length < 0 || at > size || length > size-at || n > uint64(length)/entrySize {
		return damaged("the archive's directory reaches outside of the file")
	}
	return at, length, int(n), nil
}

// parseEntry reads an entry of the central directory, which is also given as text.
func parseEntry(b []byte, text string) (x record, rest []byte, err error) {
	names, extras, comments := int(le.Uint16(b[28:])), int(le.Uint16(b[30:])), int(le.Uint16(b[32:]))
	if len(b) < entrySize+names+extras+comments {
		return x, nil, errors.New("the archive's directory is cut off")
	}
	x = record{name: text[entrySize:][:names], crc: le.Uint32(b[16:]), size: int64(le.Uint32(b[24:])), header: int64(le.Uint32(b[42:]))}
	packed := int64(le.Uint32(b[20:]))
	sizes64(b[entrySize+names:][:extras], &x.size, &packed, &x.header)
	x.method, x.whole = le.Uint16(b[10:]), x.size
	switch {
	case le.Uint16(b[8:])&1 != 0:
		return x, nil, fmt.Errorf("record %q is encrypted", x.name)
	case x.method != 0:
		x.size = packed
	case packed != x.size:
		return x, nil, fmt.Errorf("record %q has two sizes, %d and %d", x.name, packed, x.size)
	}
	if x.size < 0 || x.whole < 0 || x.header < 0 {
		return x, nil, fmt.Errorf("record %q reaches outside of the file", x.name)
	}
	return x, b[entrySize+names+extras+comments:], nil
}

// sizes64 reads the values that do not fit in 32 bits from the extra fields of a record.
func sizes64(extra []byte, values ...*int64) {
	for len(extra) >= 4 {
		n := int(le.Uint16(extra[2:]))
		if len(extra) < 4+n {
			return
		}
		field := extra[4:][:n]
		if le.Uint16(extra) == extra64 {
			for _, value := range values {
				if *value == math.MaxUint32 && len(field) >= 8 {
					*value, field = int64(le.Uint64(field)), field[8:]
				}
			}
		}
		extra = extra[4+n:]
	}
}

// checkOverlap fails if records overlap each other or the directory at end.
func checkOverlap(records []record, end int64) error {
	inOrder := slices.Clone(records)
	slices.SortFunc(inOrder, func(a, b record) int { return cmp.Compare(a.header, b.header) })
	for i, x := range inOrder {
		next := end
		if i+1 < len(inOrder) {
			next = inOrder[i+1].header
		}
		if least := localSize + int64(len(x.name)); x.header > next || x.size > next-x.header || next-x.header-x.size < least {
			return fmt.Errorf("record %q overlaps what follows it: %w", x.name, storage.ErrState)
		}
	}
	return nil
}

// locate finds the bytes of a record by its local header. They must end before limit.
func (x *record) locate(r io.ReaderAt, limit int64) error {
	if x.method != 0 && x.method != deflated {
		return fmt.Errorf("record %q is compressed by method %d of zip archives, which is not read; unpack the archive and pack it with zip -0", x.name, x.method)
	}
	var local [localSize]byte
	if _, err := r.ReadAt(local[:], x.header); err != nil {
		return err
	}
	if string(local[:4]) != localSignature || int(le.Uint16(local[26:])) != len(x.name) {
		return fmt.Errorf("record %q is not where the archive's directory says: %w", x.name, storage.ErrState)
	}
	x.data = x.header + localSize + int64(len(x.name)) + int64(le.Uint16(local[28:]))
	if x.data > limit || x.size > limit-x.data {
		return fmt.Errorf("record %q reaches outside of the file: %w", x.name, storage.ErrState)
	}
	return nil
}
