package ziparchive

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/storage"
)

// Options configure a Writer.
type Options struct {
	// Alignment is what the positions of records are multiples of, by an extra field before
	// them. 0 is for none.
	Alignment int64
	// Always64 writes the end of the directory with 64 bits also if 32 are enough, as PyTorch
	// does.
	Always64 bool
}

// A Writer writes an archive of uncompressed records from the first byte to the last, and keeps the
// central directory as it is written. It writes nothing after an error.
type Writer struct {
	options   Options
	w         *bufio.Writer
	at        int64
	record    Record // that is being written
	most      int64  // bytes of it
	count     int    // of records
	directory [][]byte
	err       error // the first
}

// NewWriter returns a writer of an archive to w.
func NewWriter(w io.Writer, o Options) *Writer {
	return &Writer{options: o, w: bufio.NewWriterSize(w, 1<<20)}
}

// blockSize is how many bytes are summed and then written while they are in the cache.
const blockSize = 256 << 10

// Write writes bytes of a record.
func (z *Writer) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && z.err == nil {
		block := b[:min(len(b), blockSize)]
		z.record.CRC = crc32.Update(z.record.CRC, crc32.IEEETable, block)
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

// Begin begins a record of at most the given number of bytes, which Write then writes. Its last extra field
// aligns it.
func (z *Writer) Begin(name string, most int64) {
	z.record, z.most = Record{Name: name, Header: z.at, Flags: followed}, most
	if utf8.ValidString(name) {
		z.record.Flags |= inUTF8
	}
	if len(name) > math.MaxUint16 && z.err == nil {
		z.err = fmt.Errorf("a name of %d bytes; zip archives allow %d: %w", len(name), math.MaxUint16, storage.ErrState)
	}
	var extra []byte
	if large(most) {
		extra = le.AppendUint16(le.AppendUint16(extra, extra64), 16)
		extra = le.AppendUint64(le.AppendUint64(extra, uint64(most)), uint64(most))
	}
	if align := z.options.Alignment; align > 0 {
		start := z.at + LocalSize + int64(len(name)+len(extra)) + 4
		padding := int((align - start%align) % align)
		extra = le.AppendUint16(append(extra, "FB"...), uint16(padding))
		extra = append(extra, strings.Repeat("Z", padding)...)
	}
	head := []byte(LocalSignature)
	for _, field := range []uint16{0, z.record.Flags, 0, 0, 0} { // version, flags, method, time, date
		head = le.AppendUint16(head, field)
	}
	sizes := uint32(0)
	if large(most) {
		sizes = math.MaxUint32
	}
	head = le.AppendUint32(le.AppendUint32(le.AppendUint32(head, 0), sizes), sizes)
	head = le.AppendUint16(le.AppendUint16(head, uint16(len(name))), uint16(len(extra)))
	z.put(append(append(head, name...), extra...))
	z.record.Data = z.at
}

// End ends the record and returns the checksum of its bytes.
func (z *Writer) End() (crc uint32, err error) {
	x := z.record
	x.Size = z.at - x.Data
	x.Whole = x.Size
	if x.Size > z.most && z.err == nil {
		z.err = fmt.Errorf("%d bytes were written, and at most %d were expected: %w", x.Size, z.most, storage.ErrState)
	}
	if x.Size > 0 {
		b := le.AppendUint32([]byte(descriptorSignature), x.CRC)
		if large(z.most) || large(x.Header) {
			b = le.AppendUint64(le.AppendUint64(b, uint64(x.Size)), uint64(x.Size))
		} else {
			b = le.AppendUint32(le.AppendUint32(b, uint32(x.Size)), uint32(x.Size))
		}
		z.put(b)
	}
	z.list(x.appendEntry(nil))
	return x.CRC, z.err
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
	start := z.at
	for _, part := range z.directory {
		z.put(part)
	}
	z.put(appendEnd(nil, z.count, start, z.at-start, z.options.Always64, comment))
	if z.err == nil {
		z.err = z.w.Flush()
	}
	return z.err
}
