// Package native reads and writes h5dnn's own format of checkpoints, .h5dn: a JSON header,
// then the elements of each storage at a multiple of the page size, with a checksum each.
//
// Arrays are views of storages: tied weights, slices and transposed arrays are stored once
// and keep their strides. A file is written from its first byte to its last, to a pipe as
// well, with the memory of one array at most; one that was cut short gives back the arrays
// before the cut. docs/native-format.md specifies the format.
package native

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/index"
	"github.com/h5dnn/h5dnn/storage"
)

var format = serialize.Format{
	Name: "native", Extensions: []string{".h5dn"}, Meta: true, Attrs: true, Shares: true, Views: true, Match: match,
	Fits: index.CheckName,
}

func init() {
	format.Open, format.Salvage, format.Save = open, salvage, save
	serialize.Register(format)
}

const (
	magic        = "H5DN\r\n\x1a\n" // shows files that went through a conversion of line ends
	endMagic     = "H5DNEND\n"
	version      = 1
	preambleSize = 64
	endSize      = 32
	sumSize      = 4 // of the checksum after each storage

	pageAlignment  = 4096 // of the data
	smallAlignment = 64   // of storages, at least

	maxAlignment = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func match(r io.ReaderAt, _ int64) serialize.Confidence {
	var head [len(magic)]byte
	if _, err := r.ReadAt(head[:], 0); err != nil || string(head[:]) != magic {
		return serialize.NoMatch
	}
	return serialize.ExactMatch
}

// A preamble is the first 64 bytes of a file. Numbers are little-endian.
//
//	 0  magic
//	 8  version, 4 bytes
//	12  alignment of the data and of large storages, 4 bytes: a power of two
//	16  length of the file, 8 bytes
//	24  length of the header, 8 bytes
//	32  CRC-32C of the header, 4 bytes
//	36  zeros
//	60  CRC-32C of the bytes before it, 4 bytes
type preamble struct {
	alignment    int64
	length       int64
	header       int64
	headerDigest uint32
}

func (p preamble) encode() []byte {
	b := make([]byte, preambleSize)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], version)
	binary.LittleEndian.PutUint32(b[12:], uint32(p.alignment))
	binary.LittleEndian.PutUint64(b[16:], uint64(p.length))
	binary.LittleEndian.PutUint64(b[24:], uint64(p.header))
	binary.LittleEndian.PutUint32(b[32:], p.headerDigest)
	binary.LittleEndian.PutUint32(b[60:], checksum(b[:60]))
	return b
}

func decodePreamble(b []byte) (p preamble, err error) {
	if string(b[:8]) != magic {
		return p, fmt.Errorf("does not begin as a native file: %w", serialize.ErrFormat)
	}
	if err := serialize.CompareChecksums("preamble", checksum(b[:60]), binary.LittleEndian.Uint32(b[60:])); err != nil {
		return p, err
	}
	switch v := binary.LittleEndian.Uint32(b[8:]); {
	case v != version:
		return p, fmt.Errorf("version %d of the native format; known is %d: %w", v, version, serialize.ErrFormat)
	case slices.ContainsFunc(b[36:60], func(x byte) bool { return x != 0 }):
		return p, fmt.Errorf("preamble: reserved bytes are not zero: %w", serialize.ErrFormat)
	}
	p.alignment = int64(binary.LittleEndian.Uint32(b[12:]))
	p.headerDigest = binary.LittleEndian.Uint32(b[32:])
	length, header := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	switch {
	case p.alignment < smallAlignment || p.alignment > maxAlignment || p.alignment&(p.alignment-1) != 0:
		return p, fmt.Errorf("alignment %d is not a power of two from %d on: %w", p.alignment, smallAlignment, storage.ErrState)
	case header > index.MaxSize:
		return p, fmt.Errorf("header of %d bytes; at most %d are allowed: %w", header, index.MaxSize, storage.ErrState)
	case length > 1<<62 || int64(length) < alignUp(preambleSize+int64(header), p.alignment)+endSize:
		return p, fmt.Errorf("a file of %d bytes has no room for a header of %d: %w", length, header, storage.ErrState)
	}
	p.length, p.header = int64(length), int64(header)
	return p, nil
}

// data returns where the data begin, which offsets of storages count from.
func (p preamble) data() int64 { return alignUp(preambleSize+p.header, p.alignment) }

// encodeEnd returns the last 32 bytes of a file: the magic, the length of the file, the
// CRC-32C of the checksums of all storages in their order, zeros, and the CRC-32C of the
// bytes before it.
func encodeEnd(length int64, sums uint32) []byte {
	b := make([]byte, endSize)
	copy(b, endMagic)
	binary.LittleEndian.PutUint64(b[8:], uint64(length))
	binary.LittleEndian.PutUint32(b[16:], sums)
	binary.LittleEndian.PutUint32(b[28:], checksum(b[:28]))
	return b
}

// decodeEnd returns the checksum of checksums.
func decodeEnd(b []byte, length int64) (uint32, error) {
	sums := binary.LittleEndian.Uint32(b[16:])
	if string(b) != string(encodeEnd(length, sums)) {
		return 0, fmt.Errorf("the end marker is missing or damaged: %w", serialize.ErrChecksum)
	}
	return sums, nil
}

func alignUp[N int | int64](n, to N) N { return (n + to - 1) &^ (to - 1) }
