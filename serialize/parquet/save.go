package parquet

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/views"
)

// groupRows is how many rows a row group has. Readers that go through all columns row by row
// have one of each in memory.
const groupRows = 1 << 17

// nullableOf returns a column of which elements may be missing, and whether an array is one. Parquet
// has no type of differences of times, and none of seconds.
func nullableOf(e serialize.Entry) (column.Nullable, bool) {
	n, ok := column.NullableOf(e)
	return n, ok && !strings.HasPrefix(n.Descr, "<m8") && n.Descr != "<M8[s]"
}

func keepsAttr(e serialize.Entry, attr string) bool {
	_, ok := nullableOf(e)
	return ok && column.KeepsAttr(e, attr)
}

// save writes columns without compression. Times, and what was read as something else because
// elements are missing, may have missing ones.
func save(w io.Writer, c serialize.Contents) error {
	entries, err := format.Columns(c)
	if err != nil {
		return err
	}
	if shape := entries[0].Shape(); len(shape) != 1 {
		return fmt.Errorf("%q has shape %v, and parquet files hold columns: %w", entries[0].Name, shape, views.ErrShape)
	}
	s := &saver{w: bufio.NewWriterSize(w, 1<<20), bytes: make([]bool, len(entries))}
	s.write([]byte(magic))
	rows := entries[0].Shape()[0]
	for start := 0; start < rows; start += groupRows {
		if err := s.group(entries, start, min(start+groupRows, rows)); err != nil {
			return err
		}
	}
	s.footer(entries, rows, c.Meta)
	if s.err == nil {
		s.err = s.w.Flush()
	}
	return s.err
}

type saver struct {
	w      *bufio.Writer
	at     int64
	err    error
	groups [][]chunk
	bytes  []bool // columns of which a string is not UTF-8
}

func (s *saver) write(b []byte) {
	if s.err == nil {
		_, s.err = s.w.Write(b)
		s.at += int64(len(b))
	}
}

// group writes a page of each column.
func (s *saver) group(entries []serialize.Entry, start, end int) error {
	var chunks []chunk
	for i, e := range entries {
		b, isText, err := pageOf(e, start, end)
		if s.bytes[i] = s.bytes[i] || !isText; err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
		h := &encoder{last: []int{0}}
		h.i32(1, pageData)
		h.i32(2, len(b))
		h.i32(3, len(b))
		h.field(5, typeStruct)
		h.begin()
		h.i32(1, end-start)
		h.i32(2, plain)
		h.i32(3, rle)
		h.i32(4, rle)
		h.end()
		h.end()
		chunks = append(chunks, chunk{at: s.at, size: int64(len(h.b) + len(b)), rows: int64(end - start)})
		s.write(h.b)
		s.write(b)
	}
	s.groups = append(s.groups, chunks)
	return s.err
}

// pageOf returns rows of a column in plain encoding, and whether strings are UTF-8.
func pageOf(e serialize.Entry, start, end int) (b []byte, isText bool, err error) {
	le := binary.LittleEndian
	isText = true
	if n, ok := nullableOf(e); ok {
		b, err := nullablePage(n, start, end)
		return b, true, err
	}
	if e.Elements != nil {
		values, err := e.Elements.Values(blocks.Between(e.Elements.View, 0, start, end))
		for _, value := range values {
			text, ok := value.(string)
			if !ok {
				return nil, false, fmt.Errorf("%.40q is not a string: %w", value, dtype.ErrType)
			}
			isText = isText && utf8.ValidString(text)
			b = append(le.AppendUint32(b, uint32(len(text))), text...)
		}
		return b, isText, err
	}
	elements, err := blocks.Read(e.Array.With(blocks.Between(e.Array.View, 0, start, end)))
	if err != nil {
		return nil, true, err
	}
	return numbers(elements, e.Array.Type), true, nil
}

// nullablePage returns rows of a column of which some are missing: definition levels of one bit, in one
// run of packed bits, and the others.
func nullablePage(n column.Nullable, start, end int) ([]byte, error) {
	elements, valid, err := n.Read(start, end)
	if err != nil {
		return nil, err
	}
	size, count := n.Type.Size(), (len(valid)+7)/8
	levels := binary.AppendUvarint(nil, uint64(count)<<1|1)
	bits := make([]byte, count)
	present := elements[:0]
	for i, ok := range valid {
		if ok {
			bits[i/8] |= 1 << (i % 8)
			present = append(present, elements[i*size:][:size]...)
		}
	}
	levels = append(levels, bits...)
	b := append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
	if n.Kind == column.Time("D") {
		return column.AppendDays(b, present)
	}
	return append(b, numbers(present, n.Type)...), nil
}

// numbers returns elements in plain encoding.
func numbers(elements []byte, t dtype.Type) []byte {
	le, ne := binary.LittleEndian, binary.NativeEndian
	b := make([]byte, 0, max(4, t.Size())*len(elements)/t.Size())
	for i := 0; i < len(elements); i += t.Size() {
		switch x := elements[i:]; t {
		case dtype.Bool:
			if i%8 == 0 {
				b = append(b, 0)
			}
			b[i/8] |= x[0] << (i % 8)
		case dtype.Uint8:
			b = le.AppendUint32(b, uint32(x[0]))
		case dtype.Int8:
			b = le.AppendUint32(b, uint32(int8(x[0])))
		case dtype.Uint16:
			b = le.AppendUint32(b, uint32(ne.Uint16(x)))
		case dtype.Int16:
			b = le.AppendUint32(b, uint32(int16(ne.Uint16(x))))
		case dtype.Float16:
			b = le.AppendUint16(b, ne.Uint16(x))
		case dtype.Uint32, dtype.Int32, dtype.Float32:
			b = le.AppendUint32(b, ne.Uint32(x))
		default:
			b = le.AppendUint64(b, ne.Uint64(x))
		}
	}
	return b
}

// physicalOf returns the types of a column; convertedType is -1 if the column has no such type.
func physicalOf(e serialize.Entry) (physical, convertedType int) {
	t := e.Array.Type
	if n, ok := nullableOf(e); ok {
		if t = n.Type; n.Kind == column.Time("D") {
			return physicalInt32, convertedDate
		}
		if n.Descr != "" {
			return physicalInt64, -1
		}
	} else if e.Elements != nil {
		return physicalBytes, 0 // UTF8
	}
	switch t {
	case dtype.Bool:
		return physicalBool, -1
	case dtype.Float16:
		return physicalFixed, -1
	case dtype.Float32:
		return physicalFloat, -1
	case dtype.Float64:
		return physicalDouble, -1
	default:
		physical = physicalInt32
		if t.Size() == 8 {
			physical = physicalInt64
		}
		for id, integer := range converted {
			if integer == t {
				return physical, int(id)
			}
		}
		return physical, -1
	}
}

// rowGroup appends a RowGroup.
func (e *encoder) rowGroup(entries []serialize.Entry, chunks []chunk) {
	e.begin()
	e.list(1, len(chunks), typeStruct)
	size := int64(0)
	for i, k := range chunks {
		size += k.size
		e.begin()
		e.i64(2, k.at)
		e.field(3, typeStruct)
		e.begin()
		physical, _ := physicalOf(entries[i])
		e.i32(1, physical)
		e.list(2, 2, 5)
		e.b = binary.AppendVarint(binary.AppendVarint(e.b, plain), rle)
		e.list(3, 1, typeBinary)
		e.string(entries[i].Name)
		e.i32(4, uncompressed)
		e.i64(5, k.rows)
		e.i64(6, k.size)
		e.i64(7, k.size)
		e.i64(9, k.at)
		e.end()
		e.end()
	}
	e.i64(2, size)
	e.i64(3, chunks[0].rows)
	e.end()
}

// timestamp appends the logical type of times: LogicalType{TIMESTAMP{isAdjustedToUTC, unit}}.
func (e *encoder) timestamp(n column.Nullable) {
	unit := 1 // milliseconds
	switch {
	case strings.Contains(n.Descr, "[us]"):
		unit = 2
	case strings.Contains(n.Descr, "[ns]"):
		unit = 3
	}
	e.field(10, typeStruct)
	e.begin()
	e.field(logicalTimestamp, typeStruct)
	e.begin()
	e.bool(1, n.Zone != "")
	e.field(2, typeStruct)
	e.begin()
	e.field(unit, typeStruct)
	e.begin()
	e.end()
	e.end()
	e.end()
	e.end()
}

// footer writes the FileMetaData.
func (s *saver) footer(entries []serialize.Entry, rows int, meta map[string]string) {
	e := &encoder{last: []int{0}}
	e.i32(1, 1)
	e.list(2, len(entries)+1, typeStruct)
	e.begin()
	e.text(4, "schema")
	e.i32(5, len(entries))
	e.end()
	for i, entry := range entries {
		physical, convertedType := physicalOf(entry)
		if s.bytes[i] {
			convertedType = -1
		}
		n, nullable := nullableOf(entry)
		repetition := 0 // required
		if nullable {
			repetition = optional
		}
		e.begin()
		e.i32(1, physical)
		if physical == physicalFixed {
			e.i32(2, sizes[physicalFixed])
		}
		e.i32(3, repetition)
		e.text(4, entry.Name)
		if convertedType >= 0 {
			e.i32(6, convertedType)
		}
		switch {
		case physical == physicalFixed:
			e.field(10, typeStruct)
			e.begin()
			e.field(logicalFloat16, typeStruct)
			e.begin()
			e.end()
			e.end()
		case nullable && n.Descr != "" && physical == physicalInt64:
			e.timestamp(n)
		}
		e.end()
	}
	e.i64(3, int64(rows))
	e.list(4, len(s.groups), typeStruct)
	for _, chunks := range s.groups {
		e.rowGroup(entries, chunks)
	}
	if len(meta) > 0 {
		e.list(5, len(meta), typeStruct)
		for _, key := range slices.Sorted(maps.Keys(meta)) {
			e.begin()
			e.text(1, key)
			e.text(2, meta[key])
			e.end()
		}
	}
	e.text(6, "h5dnn")
	e.end()
	s.write(e.b)
	s.write(binary.LittleEndian.AppendUint32(nil, uint32(len(e.b))))
	s.write([]byte(magic))
}
