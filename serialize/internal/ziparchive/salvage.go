package ziparchive

import (
	"bytes"
	"io"
)

// RecordAt reads the local header at an offset of an archive of size bytes, whose directory may be
// damaged. Sized says whether the header has the size of the record, which then is in the archive;
// else DescribedBy and FindEnd find its end.
func RecordAt(r io.ReaderAt, size, at int64) (x Record, sized, ok bool) {
	var local [LocalSize]byte
	if _, err := r.ReadAt(local[:], at); err != nil || string(local[:4]) != LocalSignature {
		return x, false, false
	}
	rest := make([]byte, int(le.Uint16(local[26:]))+int(le.Uint16(local[28:])))
	if _, err := r.ReadAt(rest, at+LocalSize); err != nil {
		return x, false, false
	}
	name, extra := rest[:le.Uint16(local[26:])], rest[le.Uint16(local[26:]):]
	x = Record{
		Name: string(name), Header: at, Data: at + LocalSize + int64(len(rest)),
		Size: int64(le.Uint32(local[18:])), Whole: int64(le.Uint32(local[22:])),
		Flags: le.Uint16(local[6:]), Method: le.Uint16(local[8:]), CRC: le.Uint32(local[14:]),
	}
	readExtra64(extra, &x.Whole, &x.Size)
	if x.Method == 0 {
		x.Whole = x.Size
	}
	return x, !x.Followed() && x.Size >= 0 && x.Size <= size-x.Data, true
}

// DescriptorSize is the largest size of a descriptor, with 64 bits.
const DescriptorSize = 24

// DescribedBy reports whether b, which follows the record's Size bytes, is a descriptor of such a
// record, and returns where the next one begins. It sets the checksum, and Whole.
func (x *Record) DescribedBy(b []byte) (next int64, ok bool) {
	if !bytes.HasPrefix(b, []byte(descriptorSignature)) {
		return 0, false
	}
	var packed, whole, length int64
	switch {
	case len(b) >= DescriptorSize && int64(le.Uint64(b[8:])) == x.Size:
		packed, whole, length = x.Size, int64(le.Uint64(b[16:])), DescriptorSize
	case len(b) >= 16:
		packed, whole, length = int64(le.Uint32(b[8:])), int64(le.Uint32(b[12:])), 16
	}
	if length == 0 || packed != x.Size || x.Method == 0 && whole != packed {
		return 0, false
	}
	x.CRC, x.Whole = le.Uint32(b[4:]), whole
	return x.Data + x.Size + length, true
}

// FindEnd finds the end of a record and returns where the next one begins: the first descriptor whose
// size is that of the bytes before it, or the next record if it is empty. Without one it reports false,
// and the record reaches to the end of the archive.
func (x *Record) FindEnd(r io.ReaderAt, size int64) (next int64, ok bool) {
	const first, largest = 4 << 10, 1 << 20 // most records of an archive with very many are small
	var buffer []byte
	for from, window := x.Data, first; from < size; from, window = from+int64(window), min(4*window, largest) {
		if need := int(min(int64(window)+DescriptorSize, size-from)); need > len(buffer) {
			buffer = make([]byte, need)
		}
		n, err := r.ReadAt(buffer, from)
		if err != nil && err != io.EOF {
			break
		}
		for i := 0; i < min(n, window); i++ {
			k := bytes.Index(buffer[i:n], []byte("PK"))
			if i += k; k < 0 || i >= window {
				break
			}
			if next, ok := x.endsBefore(buffer[i:n], from+int64(i)-x.Data); ok {
				return next, true
			}
		}
	}
	x.Size, x.CRC = size-x.Data, 0
	x.Whole = x.Size
	return size, false
}

// endsBefore reports whether a record of size bytes ends before b.
func (x *Record) endsBefore(b []byte, size int64) (next int64, ok bool) {
	if size == 0 && (bytes.HasPrefix(b, []byte(LocalSignature)) || bytes.HasPrefix(b, []byte(DirectorySignature))) {
		x.Size, x.Whole, x.CRC = 0, 0, 0
		return x.Data, true
	}
	found := *x
	found.Size = size
	if next, ok = found.DescribedBy(b); ok {
		*x = found
	}
	return next, ok
}
