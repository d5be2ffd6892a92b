package ziparchive

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/h5dnn/h5dnn/storage"
)

// Check returns an error if the directory of an archive of size bytes and the headers before its records
// differ, or if bytes follow the archive. Some programs read the one, some the other. It does not compare
// checksums with bytes.
func Check(r io.ReaderAt, size int64) error {
	at, length, count, _, err := findDirectory(r, size)
	if err != nil {
		return err
	}
	if err := checkEnd(r, size, count); err != nil {
		return err
	}
	for x, err := range entries(r, at, length) {
		if err != nil {
			return err
		}
		if err := x.checkHeader(r); err != nil {
			return fmt.Errorf("record %q: %w", x.Name, err)
		}
	}
	return nil
}

// checkEnd checks the end of a directory of count records.
func checkEnd(r io.ReaderAt, size int64, count int) error {
	tail := make([]byte, min(size, math.MaxUint16+EndSize))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil {
		return err
	}
	i := endOf(tail)
	if i < 0 {
		return fmt.Errorf("the archive has no directory: %w", storage.ErrState)
	}
	end := tail[i:]
	n := uint16(min(count, math.MaxUint16))
	switch over := len(end) - EndSize - int(le.Uint16(end[20:])); {
	case over > 0:
		return fmt.Errorf("%d bytes follow the archive: %w", over, storage.ErrState)
	case over < 0:
		return fmt.Errorf("the comment of the archive is cut off: %w", storage.ErrState)
	case le.Uint32(end[4:]) != 0 || le.Uint16(end[8:]) != n || le.Uint16(end[10:]) != n:
		return fmt.Errorf("the end of the archive's directory is damaged: %w", storage.ErrState)
	}
	return nil
}

// checkHeader compares the local header of a record with its entry in the directory.
func (x entry) checkHeader(r io.ReaderAt) error {
	local := make([]byte, LocalSize+len(x.Name))
	if _, err := r.ReadAt(local, x.Header); err != nil {
		return err
	}
	differs := func(what string) error {
		return fmt.Errorf("%s in the archive's directory and before its bytes differ: %w", what, storage.ErrState)
	}
	end := x.Header + int64(len(local)) + int64(le.Uint16(local[28:])) + x.Size
	crc, packed, whole := le.Uint32(local[14:]), le.Uint32(local[18:]), le.Uint32(local[22:])
	later := le.Uint16(local[6:])&followed != 0 // then they may be 0, or stand for an extra field
	fits := func(have uint32, want int64) bool { return int64(have) == want || have == math.MaxUint32 }
	switch {
	case string(local[:4]) != LocalSignature:
		return fmt.Errorf("no header before its bytes: %w", storage.ErrState)
	case string(local[LocalSize:]) != x.Name || le.Uint16(local[26:]) != uint16(len(x.Name)):
		return differs("the names")
	case !bytes.Equal(local[4:10], x.fields[6:12]):
		return differs("the versions, flags or methods")
	case !bytes.Equal(local[10:14], x.fields[12:16]):
		return differs("the times")
	case crc != le.Uint32(x.fields[16:]) && !(later && crc == 0):
		return differs("the checksums")
	case !(later && packed == 0 && whole == 0) && (!fits(packed, x.Size) || !fits(whole, x.Whole)):
		return differs("the sizes")
	case later && x.Whole > 0 && !x.fitsDescriptor(r, end, le.Uint32(x.fields[16:])): // of an empty record PyTorch writes none
		return fmt.Errorf("the checksum and sizes in the archive's directory and after its bytes differ: %w", storage.ErrState)
	}
	return nil
}

// fitsDescriptor reports whether the checksum and the sizes at an offset are those of a record. They have
// a signature or none, and 32 or 64 bits.
func (x Record) fitsDescriptor(r io.ReaderAt, at int64, crc uint32) bool {
	var b [4 + 4 + 16]byte
	n, _ := r.ReadAt(b[:], at) // what follows it may be short
	sum := le.AppendUint32(nil, crc)
	for _, begin := range [][]byte{append([]byte(descriptorSignature), sum...), sum} {
		small := le.AppendUint32(le.AppendUint32(bytes.Clone(begin), uint32(x.Size)), uint32(x.Whole))
		large := le.AppendUint64(le.AppendUint64(bytes.Clone(begin), uint64(x.Size)), uint64(x.Whole))
		if bytes.HasPrefix(b[:n], small) || bytes.HasPrefix(b[:n], large) {
			return true
		}
	}
	return false
}
