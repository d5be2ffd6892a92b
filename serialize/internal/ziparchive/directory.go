package ziparchive

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

const maxRecords = 1 << 20

// Directory lists the records of an archive of size bytes by its central directory, and returns its
// comment. The records lie inside of the file and do not overlap. Their data is found by Locate.
func Directory(r io.ReaderAt, size int64) (_ []Record, comment string, err error) {
	at, length, count, comment, err := findDirectory(r, size)
	if err != nil {
		return nil, "", err
	}
	records := make([]Record, 0, count)
	for x, err := range entries(r, at, length) {
		if err != nil {
			return nil, "", err
		}
		if len(records) == maxRecords {
			return nil, "", fmt.Errorf("more than %d records in the archive", maxRecords)
		}
		records = append(records, x.Record)
	}
	if len(records) != count {
		return nil, "", fmt.Errorf("the archive's directory has %d of %d records: %w", len(records), count, storage.ErrState)
	}
	return records, comment, checkOverlap(records, at)
}

// endOf returns where the end of the directory is in the last bytes of an archive, or a negative
// number. A comment follows it, which may have the same signature.
func endOf(tail []byte) int {
	for i := len(tail) - EndSize; i >= 0; i-- {
		if string(tail[i:][:len(EndSignature)]) == EndSignature && len(tail)-i-EndSize == int(le.Uint16(tail[i+20:])) {
			return i
		}
	}
	i := strings.LastIndex(string(tail), EndSignature)
	if len(tail)-i < EndSize {
		return -1
	}
	return i
}

// findDirectory returns where the central directory is, and the comment after it, at the end.
func findDirectory(r io.ReaderAt, size int64) (at, length int64, count int, comment string, err error) {
	damaged := func(what string) (int64, int64, int, string, error) {
		return 0, 0, 0, "", fmt.Errorf("%s; if the file is truncated, h5dnn repair saves its intact arrays: %w", what, storage.ErrState)
	}
	tail := make([]byte, min(size, 1<<16+EndSize+locatorSize))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil {
		return 0, 0, 0, "", err
	}
	i := endOf(tail)
	if i < 0 {
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
	text := end[EndSize:]
	return at, length, int(n), string(text[:min(len(text), int(le.Uint16(end[20:])))]), nil
}

// An entry is a record as it is in the central directory.
type entry struct {
	Record
	fields []byte // of fixed size; valid until the next entry
}

// entries yields the entries of a central directory, or an error, which is the last.
func entries(r io.ReaderAt, at, length int64) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		directory := bufio.NewReaderSize(io.NewSectionReader(r, at, length), entrySize+3*math.MaxUint16)
		for {
			b, err := directory.Peek(entrySize)
			if err == io.EOF || err == nil && string(b[:4]) != DirectorySignature {
				return
			}
			if err == nil {
				b, err = directory.Peek(sizeOfEntry(b))
			}
			if err == io.EOF {
				err = errors.New("the archive's directory is cut off")
			}
			var x Record
			if err == nil {
				x, err = parseEntry(b)
			}
			if !yield(entry{x, b[:min(len(b), entrySize)]}, err) || err != nil {
				return
			}
			directory.Discard(len(b))
		}
	}
}

// sizeOfEntry returns the size of the entry of the central directory that b begins with, by the lengths
// of its name, extra fields and comment.
func sizeOfEntry(b []byte) int {
	return entrySize + int(le.Uint16(b[28:])) + int(le.Uint16(b[30:])) + int(le.Uint16(b[32:]))
}

// parseEntry reads an entry of the central directory.
func parseEntry(b []byte) (x Record, err error) {
	names, extras := int(le.Uint16(b[28:])), int(le.Uint16(b[30:]))
	x = Record{Name: string(b[entrySize:][:names]), CRC: le.Uint32(b[16:]), Size: int64(le.Uint32(b[24:])), Header: int64(le.Uint32(b[42:]))}
	packed := int64(le.Uint32(b[20:]))
	readExtra64(b[entrySize+names:][:extras], &x.Size, &packed, &x.Header)
	x.Method, x.Whole = le.Uint16(b[10:]), x.Size
	switch {
	case le.Uint16(b[8:])&encrypted != 0:
		return x, fmt.Errorf("record %q is encrypted", x.Name)
	case x.Method != 0:
		x.Size = packed
	case packed != x.Size:
		return x, fmt.Errorf("record %q has two sizes, %d and %d", x.Name, packed, x.Size)
	}
	if x.Size < 0 || x.Whole < 0 || x.Header < 0 {
		return x, fmt.Errorf("record %q reaches outside of the file", x.Name)
	}
	return x, nil
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

// Locate finds the bytes of a record by its local header, which must have its name. They must end before
// limit. A record that was located is not read again.
func (x *Record) Locate(r io.ReaderAt, limit int64) error {
	if x.Data != 0 {
		return nil
	}
	if x.Method != 0 && x.Method != Deflated {
		return fmt.Errorf("record %q is compressed: compression method %d is not read; unpack the archive and pack it with zip -0: %w", x.Name, x.Method, dtype.ErrType)
	}
	local := make([]byte, LocalSize+len(x.Name))
	if _, err := r.ReadAt(local, x.Header); err != nil {
		return err
	}
	name := local[LocalSize:]
	if string(local[:4]) != LocalSignature || int(le.Uint16(local[26:])) != len(name) || string(name) != x.Name {
		return fmt.Errorf("record %q is not where the archive's directory says: its name is %q there: %w", x.Name, name, storage.ErrState)
	}
	x.Data = x.Header + int64(len(local)) + int64(le.Uint16(local[28:]))
	if x.Data > limit || x.Size > limit-x.Data {
		return fmt.Errorf("record %q reaches outside of the file: %w", x.Name, storage.ErrState)
	}
	return nil
}
