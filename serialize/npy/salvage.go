package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// salvage opens an archive whose end is missing or whose directory is damaged: it goes
// from file to file by what precedes each, and makes a directory of the complete ones. The
// array that is cut off comes with an error. Metadata are lost, which are at the end.
func salvage(in serialize.Input) (serialize.File, error) {
	var directory []byte
	count, lost, at := 0, "", int64(0)
	for {
		m, ok := memberAt(in, at)
		if !ok {
			break
		}
		if !m.measure(in) {
			lost = m.name
			break
		}
		directory = m.appendEntry(directory)
		count++
		at = m.end
	}
	if count == 0 {
		return nil, fmt.Errorf("no complete array is left: %w", storage.ErrState)
	}
	tail := appendEnd(directory, count, in.Size)
	repaired := serialize.Input{ReaderAt: &appendedReader{in, in.Size, tail}, Size: in.Size + int64(len(tail)), Name: in.Name, Options: in.Options}
	sections, err := repaired.Sections()
	if err != nil {
		return nil, err
	}
	a := &archive{Sections: sections}
	found, err := a.list()
	if err != nil {
		return nil, err
	}
	list := serialize.NewList(found.Len()+1, nil, func() error { return errors.Join(found.Close(), in.Close()) })
	for e, err := range found.All() {
		if err := list.Add(e, err); err != nil {
			return nil, err
		}
	}
	var next [4]byte
	in.ReadAt(next[:], at)
	name, ok := strings.CutSuffix(lost, ".npy")
	reason := "the file ends before its last element, and before the directory, which has the names of later arrays"
	if lost == "" && string(next[:]) != "PK\x01\x02" {
		name, ok, reason = fmt.Sprintf("array %d and later", count+1), true, "the file ends before the directory, which has the names"
	}
	if ok && !list.Has(name) {
		err = list.Add(serialize.Entry{Name: name}, fmt.Errorf("%s: %w", reason, storage.ErrState))
	}
	return &file{list, a}, err
}

// An appendedReader has bytes after those of another reader.
type appendedReader struct {
	io.ReaderAt
	size int64
	tail []byte
}

func (a *appendedReader) ReadAt(b []byte, at int64) (n int, err error) {
	if at < a.size {
		n, err = a.ReaderAt.ReadAt(b[:min(int64(len(b)), a.size-at)], at)
		if n == len(b) || int64(n) < a.size-at {
			return n, err
		}
	}
	more, err := bytes.NewReader(a.tail).ReadAt(b[n:], at+int64(n)-a.size)
	return n + more, err
}

// A member is a file in a zip archive (PKWARE APPNOTE 6.3.9, section 4.3.7).
type member struct {
	name          string
	header        []byte // of 30 bytes
	at, data, end int64
	packed, size  uint64
	crc           uint32
}

const (
	localSize       = 30
	localSignature  = "PK\x03\x04"
	descriptorSign  = "PK\x07\x08"
	followedByPlace = 1 << 3 // flag: sizes and checksum follow the bytes
	extra64         = 1      // id of the extra field with sizes of 64 bits
)

// memberAt reads a local header.
func memberAt(r io.ReaderAt, at int64) (member, bool) {
	le := binary.LittleEndian
	head := make([]byte, localSize)
	if _, err := r.ReadAt(head, at); err != nil || string(head[:4]) != localSignature {
		return member{}, false
	}
	rest := make([]byte, int(le.Uint16(head[26:]))+int(le.Uint16(head[28:])))
	if _, err := r.ReadAt(rest, at+localSize); err != nil {
		return member{}, false
	}
	names := int(le.Uint16(head[26:]))
	m := member{name: string(rest[:names]), header: head, at: at, data: at + localSize + int64(len(rest))}
	m.crc, m.packed, m.size = le.Uint32(head[14:]), uint64(le.Uint32(head[18:])), uint64(le.Uint32(head[22:]))
	for extra := rest[names:]; len(extra) >= 4; {
		n := int(le.Uint16(extra[2:]))
		if len(extra) < 4+n {
			break
		}
		if field := extra[4 : 4+n]; le.Uint16(extra) == extra64 && n >= 16 && m.size == math.MaxUint32 {
			m.size, m.packed = le.Uint64(field), le.Uint64(field[8:])
		}
		extra = extra[4+n:]
	}
	return m, true
}

// measure finds where the bytes of m end, and reports whether they are all there.
func (m *member) measure(in serialize.Input) bool {
	le := binary.LittleEndian
	if flags := le.Uint16(m.header[6:]); flags&followedByPlace == 0 {
		m.end = m.data + int64(m.packed)
		return m.packed <= uint64(in.Size-m.data)
	}
	if le.Uint16(m.header[8:]) == 0 { // not compressed: the header of the array says its size
		h, err := readHeader(io.NewSectionReader(in, m.data, in.Size-m.data), maxHeader)
		if err != nil {
			return false
		}
		m.packed = uint64(h.size) + uint64(h.view.Len()*h.typ.size)
		m.size = m.packed
		if m.packed > uint64(in.Size-m.data) {
			return false
		}
		var descriptor [24]byte
		n, _ := in.ReadAt(descriptor[:], m.data+int64(m.packed))
		length := m.readDescriptor(descriptor[:n])
		if m.end = m.data + int64(m.packed) + int64(length); length > 0 || n < len(descriptor) {
			return true
		} // else the header of the array is damaged
	}
	return m.findDescriptor(in)
}

// readDescriptor reads what follows the bytes, if it is there, and returns its length.
func (m *member) readDescriptor(b []byte) int {
	le := binary.LittleEndian
	if len(b) < 16 || string(b[:4]) != descriptorSign {
		return 0
	}
	m.crc = le.Uint32(b[4:])
	if len(b) >= 24 && le.Uint64(b[8:]) == m.packed {
		m.size = le.Uint64(b[16:])
		return 24
	}
	m.size = uint64(le.Uint32(b[12:]))
	return 16
}

// findDescriptor looks for the descriptor that has the number of bytes before it.
func (m *member) findDescriptor(in serialize.Input) bool {
	const window = 1 << 20
	buffer := make([]byte, window+24)
	for from := m.data; from < in.Size; from += window {
		n, _ := in.ReadAt(buffer, from)
		for i := 0; i < min(n, window); i++ {
			k := bytes.Index(buffer[i:n], []byte(descriptorSign))
			if i += k; k < 0 || i >= window {
				break
			}
			b := buffer[i:n]
			packed := uint64(from + int64(i) - m.data)
			le := binary.LittleEndian
			if len(b) >= 24 && le.Uint64(b[8:]) == packed || len(b) >= 16 && uint64(le.Uint32(b[8:])) == packed {
				m.packed = packed
				m.end = m.data + int64(packed) + int64(m.readDescriptor(b))
				return true
			}
		}
	}
	return false
}

// appendEntry appends the entry of the central directory, with sizes of 64 bits.
func (m *member) appendEntry(b []byte) []byte {
	le := binary.LittleEndian
	b = append(b, "PK\x01\x02\x2d\x00\x2d\x00"...)
	flags := le.Uint16(m.header[6:]) &^ followedByPlace
	b = le.AppendUint16(b, flags)
	b = append(b, m.header[8:14]...) // method, time, date
	b = le.AppendUint32(b, m.crc)
	b = append(b, "\xff\xff\xff\xff\xff\xff\xff\xff"...)
	b = le.AppendUint16(le.AppendUint16(b, uint16(len(m.name))), 28)
	b = append(b, make([]byte, 10)...) // comment, disk, attributes
	b = append(append(b, "\xff\xff\xff\xff"...), m.name...)
	b = le.AppendUint16(le.AppendUint16(b, extra64), 24)
	return le.AppendUint64(le.AppendUint64(le.AppendUint64(b, m.size), m.packed), uint64(m.at))
}

// appendEnd appends the end of the directory, which begins at the given offset.
func appendEnd(b []byte, count int, at int64) []byte {
	le := binary.LittleEndian
	length := len(b)
	b = le.AppendUint64(append(b, "PK\x06\x06"...), 44)
	b = append(b, "\x2d\x00\x2d\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for _, x := range []uint64{uint64(count), uint64(count), uint64(length), uint64(at)} {
		b = le.AppendUint64(b, x)
	}
	b = append(b, "PK\x06\x07\x00\x00\x00\x00"...)
	b = le.AppendUint32(le.AppendUint64(b, uint64(at)+uint64(length)), 1)
	b = append(b, "PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff"...)
	return append(b, "\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"...)
}
