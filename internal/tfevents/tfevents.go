// Package tfevents writes the event files of TensorBoard: TFRecords that hold messages Event of protocol buffers.
//
// A record is (tensorflow.org/tutorials/load_data/tfrecord)
//
//	uint64 length, uint32 masked CRC-32C of length, byte data[length], uint32 masked CRC-32C of data
//
// and the messages are tensorflow/core/util/event.proto and framework/summary.proto.
package tfevents

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"time"
)

// An Event is numbers of one step.
type Event struct {
	Time    time.Time
	Step    int64
	Version string // in the first event of a file, Version; else empty
	Scalars []Scalar
}

// Version is the version of event files.
const Version = "brain.Event:2"

// A Scalar is a number with its tag. Tags with the same text before a slash are in one group.
type Scalar struct {
	Tag   string
	Value float64
}

// AppendRecord appends e to b as a record.
func AppendRecord(b []byte, e Event) []byte {
	data := appendEvent(nil, e)
	start := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, masked(b[start:]))
	return binary.LittleEndian.AppendUint32(append(b, data...), masked(data))
}

// RecordSize reads a record and returns its bytes.
func RecordSize(r *bufio.Reader) (int64, error) {
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return 0, err
	}
	rest := int64(min(binary.LittleEndian.Uint64(length[:]), math.MaxInt32)) + 8
	n, err := io.CopyN(io.Discard, r, rest)
	return int64(len(length)) + n, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the CRC-32C of b as TFRecord stores it: rotated right by 15 bits, plus a constant.
func masked(b []byte) uint32 {
	sum := crc32.Checksum(b, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// The wire types of fields.
const (
	varint = 0
	fixed8 = 1 // 8 bytes
	bytes  = 2
	fixed4 = 5
)

// appendEvent appends {double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5}, where Summary is
// {repeated Value value = 1} and Value {string tag = 1; float simple_value = 2}.
func appendEvent(b []byte, e Event) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, 1<<3|fixed8), math.Float64bits(float64(e.Time.UnixMicro())/1e6))
	b = binary.AppendUvarint(append(b, 2<<3|varint), uint64(e.Step))
	if e.Version != "" {
		b = appendBytes(b, 3, []byte(e.Version))
	}
	var summary, value []byte
	for _, s := range e.Scalars {
		value = append(appendBytes(value[:0], 1, []byte(s.Tag)), 2<<3|fixed4)
		value = binary.LittleEndian.AppendUint32(value, math.Float32bits(float32(s.Value)))
		summary = appendBytes(summary, 1, value)
	}
	if len(summary) > 0 {
		b = appendBytes(b, 5, summary)
	}
	return b
}

// appendBytes appends a field of bytes.
func appendBytes(b []byte, field byte, data []byte) []byte {
	return append(binary.AppendUvarint(append(b, field<<3|bytes), uint64(len(data))), data...)
}
