// Package zipwriter writes zip archives of uncompressed records from the first byte to the last.
//
// Package archive/zip keeps several hundred bytes of each record until the end, which for hundreds of
// thousands of small arrays is more than the archive. This package keeps the central directory as it
// is written. PKWARE APPNOTE 6.3.9, sections 4.3.7 to 4.3.16, describes the structures.
package zipwriter

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/storage"
)

const (
	localSignature     = "PK\x03\x04"
	descriptor         = "PK\x07\x08"
	directorySignature = "PK\x01\x02"
	end64Signature     = "PK\x06\x06"
	locatorSignature   = "PK\x06\x07"
	endSignature       = "PK\x05\x06"

	localSize, end64Size = 30, 56
	extra64              = 1 // id of the extra field with sizes of 64 bits
)

// Flags of records.
const (
	followed = 1 << 3  // the checksum and the sizes follow the bytes
	inUTF8   = 1 << 11 // the name is UTF-8
)

var le = binary.LittleEndian

// Options configure a Writer.
type Options struct {
	// Alignment is what the positions of records are multiples of, by an extra field before
	// them. 0 is for none.
	Alignment int64
	// Always64 writes the end of the directory with 64 bits also if 32 are enough, as PyTorch
	// does.
	Always64 bool
}

// A Writer writes an archive. It writes nothing after an error.
type Writer struct {
	options   Options
	w         *bufio.Writer
	at        int64
	record    record // that is being written
	count     int    // of records
	directory [][]byte
	err       error // the first
}

// A record is a file in the archive.
type record struct {
	name          string
	header, start int64 // where its local header and its bytes begin
	most, size    int64
	sum           uint32
}

// New returns a writer of an archive to w.
func New(w io.Writer, o Options) *Writer {
	return &Writer{options: o, w: bufio.NewWriterSize(w, 1<<20)}
}

// blockSize is how many bytes are summed and then written while they are in the cache.
const blockSize = 256 << 10

// Write writes bytes of a record.
func (z *Writer) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && z.err == nil {
		block := b[:min(len(b), blockSize)]
		z.record.sum = crc32.Update(z.record.sum, crc32.IEEETable, block)
		z.put(block)
		b = b[len(block):]
	}
	return n, z.err
}

func (z *Writer) put(b []byte) {
	if z.err == nil {
		_, z.err = z.w.Write(b)
		z.at += int64(len(b))
	}
}

// large reports whether a number is written in an extra field with 64 bits.
func large(n int64) bool { return n >= math.MaxUint32 }

func (x record) flags() uint16 {
	if utf8.ValidString(x.name) {
		return followed | inUTF8
	}
	return followed
}

// Begin begins a record of at most so many bytes, which Write then writes. Its last extra field
// aligns it.
func (z *Writer) Begin(name string, most int64) {
	z.record = record{name: name, header: z.at, most: most}
	if len(name) > math.MaxUint16 && z.err == nil {
		z.err = fmt.Errorf("a name of %d bytes; zip archives allow %d: %w", len(name), math.MaxUint16, storage.ErrState)
	}
	var extra []byte
	if large(most) {
		extra = le.AppendUint16(le.AppendUint16(extra, extra64), 16)
		extra = le.AppendUint64(le.AppendUint64(extra, uint64(most)), uint64(most))
	}
	if align := z.options.Alignment; align > 0 {
		start := z.at + localSize + int64(len(name)+len(extra)) + 4
		padding := int((align - start%align) % align)
		extra = le.AppendUint16(append(extra, "FB"...), uint16(padding))
		extra = append(extra, strings.Repeat("Z", padding)...)
	}
	head := []byte(localSignature)
	for _, field := range []uint16{0, z.record.flags(), 0, 0, 0} { // version, flags, method, time, date
		head = le.AppendUint16(head, field)
	}
	sizes := uint32(0)
	if large(most) {
		sizes = math.MaxUint32
	}
	head = le.AppendUint32(le.AppendUint32(le.AppendUint32(head, 0), sizes), sizes)
	head = le.AppendUint16(le.AppendUint16(head, uint16(len(name))), uint16(len(extra)))
	z.put(append(append(head, name...), extra...))
	z.record.start = z.at
}

// End ends the record and returns the checksum of its bytes.
func (z *Writer) End() (crc uint32, err error) {
	x := z.record
	if x.size = z.at - x.start; x.size > x.most && z.err == nil {
		z.err = fmt.Errorf("%d bytes were written, and at most %d were expected: %w", x.size, x.most, storage.ErrState)
	}
	if x.size > 0 {
		b := le.AppendUint32([]byte(descriptor), x.sum)
		if large(x.most) || large(x.header) {
			b = le.AppendUint64(le.AppendUint64(b, uint64(x.size)), uint64(x.size))
		} else {
			b = le.AppendUint32(le.AppendUint32(b, uint32(x.size)), uint32(x.size))
		}
		z.put(b)
	}
	z.list(x.entry())
	return x.sum, z.err
}

// Add writes a record.
func (z *Writer) Add(name string, content []byte) (crc uint32, err error) {
	z.Begin(name, int64(len(content)))
	z.Write(content)
	return z.End()
}

// list keeps an entry of the central directory.
func (z *Writer) list(entry []byte) {
	const block = 64 << 10
	last := len(z.directory) - 1
	if last < 0 || len(z.directory[last])+len(entry) > cap(z.directory[last]) {
		z.directory = append(z.directory, make([]byte, 0, max(block, len(entry))))
		last++
	}
	z.directory[last] = append(z.directory[last], entry...)
	z.count++
}

// Close writes the central directory and a comment.
func (z *Writer) Close(comment string) error {
	start, n := z.at, z.count
	for _, part := range z.directory {
		z.put(part)
	}
	length, end64 := z.at-start, z.at
	if z.options.Always64 || n >= math.MaxUint16 || large(length) || large(start) {
		b := le.AppendUint64([]byte(end64Signature), end64Size-12)
		b = le.AppendUint16(le.AppendUint16(b, 45), 45) // versions
		b = le.AppendUint32(le.AppendUint32(b, 0), 0)   // disks
		for _, field := range []uint64{uint64(n), uint64(n), uint64(length), uint64(start)} {
			b = le.AppendUint64(b, field)
		}
		b = le.AppendUint32(append(b, locatorSignature...), 0)
		z.put(le.AppendUint32(le.AppendUint64(b, uint64(end64)), 1))
	}
	b, count := []byte(endSignature), uint16(min(n, math.MaxUint16))
	for _, field := range []uint16{0, 0, count, count} {
		b = le.AppendUint16(b, field)
	}
	b = le.AppendUint32(le.AppendUint32(b, uint32(min(length, math.MaxUint32))), uint32(min(start, math.MaxUint32)))
	z.put(append(le.AppendUint16(b, uint16(len(comment))), comment...))
	if z.err == nil {
		z.err = z.w.Flush()
	}
	return z.err
}

// entry returns x as it is in the central directory.
func (x record) entry() []byte {
	var extra []byte
	size, header := uint32(min(x.size, math.MaxUint32)), uint32(min(x.header, math.MaxUint32))
	if large(x.size) {
		extra = le.AppendUint64(le.AppendUint64(extra, uint64(x.size)), uint64(x.size))
	}
	if large(x.header) {
		extra = le.AppendUint64(extra, uint64(x.header))
	}
	if len(extra) > 0 {
		extra = append(le.AppendUint16(le.AppendUint16(nil, extra64), uint16(len(extra))), extra...)
	}
	b := []byte(directorySignature)
	for _, field := range []uint16{0, 0, x.flags(), 0, 0, 0} { // versions, flags, method, time, date
		b = le.AppendUint16(b, field)
	}
	b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, x.sum), size), size)
	for _, field := range []uint16{uint16(len(x.name)), uint16(len(extra)), 0, 0, 0} { // comment, disk, attributes
		b = le.AppendUint16(b, field)
	}
	b = le.AppendUint32(le.AppendUint32(b, 0), header)
	return append(append(b, x.name...), extra...)
}
