package ziparchive

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/storage"
)

const maxRecords = 1 << 20

// Directory lists the records of an archive of size bytes by its central directory.
// They lie inside of the file and do not overlap. Their data is found by Locate.
func Directory(r io.ReaderAt, size int64) ([]Record, error) {
	at, length, count, err := findDirectory(r, size)
	if err != nil {
		return nil, err
	}
	b := make([]byte, length)
	if _, err := r.ReadAt(b, at); err != nil {
		return nil, err
	}
	records := make([]Record, 0, count)
	text := string(b) // of which names are parts
	for len(b) >= entrySize && string(b[:4]) == DirectorySignature {
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
	tail := make([]byte, min(size, 1<<16+EndSize+locatorSize))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil {
		return 0, 0, 0, err
	}
	i := strings.LastIndex(string(tail), EndSignature)
	if i < 0 || len(tail)-i < EndSize {
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
func parseEntry(b []byte, text string) (x Record, rest []byte, err error) {
	names, extras, size := int(le.Uint16(b[28:])), int(le.Uint16(b[30:])), sizeOfEntry(b)
	if len(b) < size {
		return x, nil, errors.New("the archive's directory is cut off")
	}
	x = Record{Name: text[entrySize:][:names], CRC: le.Uint32(b[16:]), Size: int64(le.Uint32(b[24:])), Header: int64(le.Uint32(b[42:]))}
	packed := int64(le.Uint32(b[20:]))
	readExtra64(b[entrySize+names:][:extras], &x.Size, &packed, &x.Header)
	x.Method, x.Whole = le.Uint16(b[10:]), x.Size
	switch {
	case le.Uint16(b[8:])&encrypted != 0:
		return x, nil, fmt.Errorf("record %q is encrypted", x.Name)
	case x.Method != 0:
		x.Size = packed
	case packed != x.Size:
		return x, nil, fmt.Errorf("record %q has two sizes, %d and %d", x.Name, packed, x.Size)
	}
	if x.Size < 0 || x.Whole < 0 || x.Header < 0 {
		return x, nil, fmt.Errorf("record %q reaches outside of the file", x.Name)
	}
	return x, b[size:], nil
}

// sizeOfEntry returns the size of the entry of the central directory that b begins with, by the lengths
// of its name, extra fields and comment.
func sizeOfEntry(b []byte) int {
	return entrySize + int(le.Uint16(b[28:])) + int(le.Uint16(b[30:])) + int(le.Uint16(b[32:]))
}

// checkOverlap fails if records overlap each other or the directory at end.
func checkOverlap(records []Record, end int64) error {
	inOrder, byOffset := records, func(a, b Record) int { return cmp.Compare(a.Header, b.Header) }
	if !slices.IsSortedFunc(records, byOffset) {
		inOrder = slices.Clone(records)
		slices.SortFunc(inOrder, byOffset)
	}
	for i, x := range inOrder {
		next := end
		if i+1 < len(inOrder) {
			next = inOrder[i+1].Header
		}
		if least := LocalSize + int64(len(x.Name)); x.Header > next || x.Size > next-x.Header || next-x.Header-x.Size < least {
			return fmt.Errorf("record %q overlaps what follows it: %w", x.Name, storage.ErrState)
		}
	}
	return nil
}

// Locate finds the bytes of a record by its local header. They must end before limit.
func (x *Record) Locate(r io.ReaderAt, limit int64) error {
	if x.Method != 0 && x.Method != Deflated {
		return fmt.Errorf("record %q is compressed by method %d of zip archives, which is not read; unpack the archive and pack it with zip -0", x.Name, x.Method)
	}
	var local [LocalSize]byte
	if _, err := r.ReadAt(local[:], x.Header); err != nil {
		return err
	}
	if string(local[:4]) != LocalSignature || int(le.Uint16(local[26:])) != len(x.Name) {
		return fmt.Errorf("record %q is not where the archive's directory says: %w", x.Name, storage.ErrState)
	}
	x.Data = x.Header + LocalSize + int64(len(x.Name)) + int64(le.Uint16(local[28:]))
	if x.Data > limit || x.Size > limit-x.Data {
		return fmt.Errorf("record %q reaches outside of the file: %w", x.Name, storage.ErrState)
	}
	return nil
}
