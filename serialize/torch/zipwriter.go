package torch

import (
	"bufio"
	"hash/crc32"
	"io"
	"math"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// A zipWriter writes archives as PyTorch does: records are stored without compression,
// their bytes begin at multiples of 64, and their sizes and checksums follow them.
type zipWriter struct {
	w       *bufio.Writer
	at      int64
	records []record
	sum     uint32 // of the record that is being written
	err     error  // the first
}

// alignment of records, in bytes.
const alignment = 64

// flags of all entries: a descriptor follows, and names are UTF-8.
const flags = 1<<3 | 1<<11

func newZipWriter(w io.Writer) *zipWriter { return &zipWriter{w: bufio.NewWriterSize(w, 1<<20)} }

// blockSize is how many bytes are summed and then written while they are in the cache.
const blockSize = 256 << 10

// Write writes bytes of a record.
func (z *zipWriter) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && z.err == nil {
		block := b[:min(len(b), blockSize)]
		z.sum = crc32.Update(z.sum, crc32.IEEETable, block)
		z.put(block)
		b = b[len(block):]
	}
	return n, z.err
}

func (z *zipWriter) put(b []byte) {
	if z.err == nil {
		_, z.err = z.w.Write(b)
		z.at += int64(len(b))
	}
}

func (z *zipWriter) add(name string, content []byte) {
	z.begin(name, int64(len(content)))
	z.Write(content)
	z.end()
}

func (z *zipWriter) addArray(name string, a storage.Array) {
	z.begin(name, int64(a.Len())*int64(a.Type.Size()))
	if z.err == nil {
		if err := serialize.WriteLittleEndian(z, a); z.err == nil {
			z.err = err
		}
	}
	z.end()
}

// large reports whether a number is written in an extra field with 64 bits.
func large(n int64) bool { return n >= math.MaxUint32 }

// begin writes a local header, whose last extra field pads it.
func (z *zipWriter) begin(name string, size int64) {
	x := record{name: name, header: z.at, size: size}
	var extra []byte
	if large(size) {
		extra = le.AppendUint16(le.AppendUint16(extra, extra64), 16)
		extra = le.AppendUint64(le.AppendUint64(extra, uint64(size)), uint64(size))
	}
	start := z.at + localSize + int64(len(name)+len(extra)) + 4
	padding := int((alignment - start%alignment) % alignment)
	extra = le.AppendUint16(append(extra, "FB"...), uint16(padding))
	extra = append(extra, strings.Repeat("Z", padding)...)
	head := []byte(localSignature)
	for _, field := range []uint16{0, flags, 0, 0, 0} { // version, flags, method, time, date
		head = le.AppendUint16(head, field)
	}
	sizes := uint32(0)
	if large(size) {
		sizes = math.MaxUint32
	}
	head = le.AppendUint32(le.AppendUint32(le.AppendUint32(head, 0), sizes), sizes)
	head = le.AppendUint16(le.AppendUint16(head, uint16(len(name))), uint16(len(extra)))
	z.put(append(append(head, name...), extra...))
	x.data, z.sum = z.at, 0
	z.records = append(z.records, x)
}

// end writes the descriptor of the record.
func (z *zipWriter) end() {
	x := &z.records[len(z.records)-1]
	if x.crc = z.sum; x.size == 0 {
		return
	}
	b := le.AppendUint32([]byte(descriptor), x.crc)
	if large(x.size) || large(x.header) {
		b = le.AppendUint64(le.AppendUint64(b, uint64(x.size)), uint64(x.size))
	} else {
		b = le.AppendUint32(le.AppendUint32(b, uint32(x.size)), uint32(x.size))
	}
	z.put(b)
}

// close writes the central directory.
func (z *zipWriter) close() error {
	start := z.at
	for _, x := range z.records {
		z.put(x.entry())
	}
	length, n := z.at-start, len(z.records)
	end64 := z.at
	b := le.AppendUint64([]byte(end64Signature), end64Size-12)
	b = le.AppendUint16(le.AppendUint16(b, 45), 45) // versions
	b = le.AppendUint32(le.AppendUint32(b, 0), 0)   // disks
	for _, field := range []uint64{uint64(n), uint64(n), uint64(length), uint64(start)} {
		b = le.AppendUint64(b, field)
	}
	b = le.AppendUint32(append(b, locatorSignature...), 0)
	b = le.AppendUint32(le.AppendUint64(b, uint64(end64)), 1)
	b = append(b, endSignature...)
	count := uint16(min(n, math.MaxUint16))
	for _, field := range []uint16{0, 0, count, count} {
		b = le.AppendUint16(b, field)
	}
	b = le.AppendUint32(le.AppendUint32(b, uint32(min(length, math.MaxUint32))), uint32(min(start, math.MaxUint32)))
	z.put(le.AppendUint16(b, 0))
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
	for _, field := range []uint16{0, 0, flags, 0, 0, 0} { // versions, flags, method, time, date
		b = le.AppendUint16(b, field)
	}
	b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, x.crc), size), size)
	for _, field := range []uint16{uint16(len(x.name)), uint16(len(extra)), 0, 0, 0} { // comment, disk, attributes
		b = le.AppendUint16(b, field)
	}
	b = le.AppendUint32(le.AppendUint32(b, 0), header)
	return append(append(b, x.name...), extra...)
}
