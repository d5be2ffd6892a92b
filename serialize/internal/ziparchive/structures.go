// Package ziparchive reads and writes zip archives with hundreds of thousands of records, and reads
// those that lost their directory.
//
// Package archive/zip writes no aligned records, and needs a directory. Structures are those of PKWARE
// APPNOTE 6.3.9, sections 4.3.7 to 4.3.16.
package ziparchive

import (
	"encoding/binary"
	"io"
	"math"
)

// Signatures of structures.
const (
	LocalSignature     = "PK\x03\x04"
	DirectorySignature = "PK\x01\x02"
	EndSignature       = "PK\x05\x06"

	descriptorSignature = "PK\x07\x08"
	end64Signature      = "PK\x06\x06"
	locatorSignature    = "PK\x06\x07"
)

// LocalSize is the size of a local header without the name and extra fields, EndSize that of the end
// of the directory without a comment.
const (
	LocalSize = 30
	EndSize   = 22

	entrySize, end64Size, locatorSize = 46, 56, 20
	extra64                           = 1 // id of the extra field with sizes of 64 bits
)

// Deflated is the method of records compressed with DEFLATE, and 0 that of others.
const Deflated = 8

// Flags of records.
const (
	encrypted = 1 << 0
	followed  = 1 << 3  // the checksum and the sizes follow the bytes
	inUTF8    = 1 << 11 // the name is UTF-8
)

var le = binary.LittleEndian

// A Record is a file in an archive.
type Record struct {
	Name   string
	Header int64 // offset of the local header
	Data   int64 // offset of the bytes; Directory does not set it
	Size   int64 // in the archive
	Whole  int64 // size without compression
	Method uint16
	Flags  uint16
	CRC    uint32 // of the uncompressed bytes; 0 if unknown
}

// FirstName returns the name of the record that an archive begins with, and whether there is one.
func FirstName(r io.ReaderAt) (string, bool) {
	var head [LocalSize]byte
	if _, err := r.ReadAt(head[:], 0); err != nil || string(head[:4]) != LocalSignature {
		return "", false
	}
	name := make([]byte, le.Uint16(head[26:]))
	_, err := r.ReadAt(name, LocalSize)
	return string(name), err == nil
}

// Followed reports whether the size and the checksum follow the bytes.
func (x Record) Followed() bool { return x.Flags&followed != 0 }

// readExtra64 reads the values that do not fit in 32 bits from the extra fields of a record.
func readExtra64(extra []byte, values ...*int64) {
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

// appendEntry appends a record as it is in the central directory.
func (x Record) appendEntry(b []byte) []byte {
	var extra []byte
	size, whole, header := low32(x.Size), low32(x.Whole), low32(x.Header)
	for _, n := range []int64{x.Whole, x.Size, x.Header} {
		if large(n) {
			extra = le.AppendUint64(extra, uint64(n))
		}
	}
	if len(extra) > 0 {
		extra = append(le.AppendUint16(le.AppendUint16(nil, extra64), uint16(len(extra))), extra...)
	}
	b = append(b, DirectorySignature...)
	for _, field := range []uint16{0, 0, x.Flags, x.Method, 0, 0} { // versions, flags, method, time, date
		b = le.AppendUint16(b, field)
	}
	b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, x.CRC), size), whole)
	for _, field := range []uint16{uint16(len(x.Name)), uint16(len(extra)), 0, 0, 0} { // comment, disk, attributes
		b = le.AppendUint16(b, field)
	}
	b = le.AppendUint32(le.AppendUint32(b, 0), header)
	return append(append(b, x.Name...), extra...)
}

// appendEnd appends the end of a directory of n records and length bytes that begins at start, with
// 64 bits if that is asked for or necessary.
func appendEnd(b []byte, n int, start, length int64, always64 bool, comment string) []byte {
	if always64 || n >= math.MaxUint16 || large(length) || large(start) {
		b = le.AppendUint64(append(b, end64Signature...), end64Size-12)
		b = le.AppendUint16(le.AppendUint16(b, 45), 45) // versions
		b = le.AppendUint32(le.AppendUint32(b, 0), 0)   // disks
		for _, field := range []uint64{uint64(n), uint64(n), uint64(length), uint64(start)} {
			b = le.AppendUint64(b, field)
		}
		b = le.AppendUint32(append(b, locatorSignature...), 0)
		b = le.AppendUint32(le.AppendUint64(b, uint64(start+length)), 1)
	}
	count := uint16(min(n, math.MaxUint16))
	b = append(b, EndSignature...)
	for _, field := range []uint16{0, 0, count, count} {
		b = le.AppendUint16(b, field)
	}
	b = le.AppendUint32(le.AppendUint32(b, low32(length)), low32(start))
	return append(le.AppendUint16(b, uint16(len(comment))), comment...)
}

// large reports whether a number is written in an extra field with 64 bits.
func large(n int64) bool { return n >= math.MaxUint32 }

// low32 returns n, or what stands for a number in an extra field.
func low32(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }
