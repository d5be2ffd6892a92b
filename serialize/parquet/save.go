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
	entries, rows, err := column.Of(format, c)
	if err != nil {
		return err
	}
	s := &saver{w: bufio.NewWriterSize(w, 1<<20), bytes: make([]bool, len(entries))}
	s.write([]byte(magic))
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
		header := encode(nil, object{1: pageData, 2: len(b), 3: len(b), 5: object{1: end - start, 2: plain, 3: rle, 4: rle}})
		chunks = append(chunks, chunk{at: s.at, size: int64(len(header) + len(b)), rows: int64(end - start)})
		s.write(header)
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
		values, err := e.Elements.Values(e.Elements.View.Narrow(0, start, end))
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
	elements, err := blocks.Read(e.Array.With(e.Array.View.Narrow(0, start, end)))
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

// rowGroup returns a RowGroup.
func rowGroup(entries []serialize.Entry, chunks []chunk) encoded {
	var columns []any
	size := int64(0)
	for i, k := range chunks {
		size += k.size
		physical, _ := physicalOf(entries[i])
		columns = append(columns, encoded(encode(nil, object{2: k.at, 3: object{
			1: physical, 2: []any{plain, rle}, 3: []any{entries[i].Name}, 4: uncompressed, 5: k.rows, 6: k.size, 7: k.size, 9: k.at,
		}})))
	}
	return encode(nil, object{1: columns, 2: size, 3: chunks[0].rows})
}

// timestamp returns the logical type of times: LogicalType{TIMESTAMP{isAdjustedToUTC, unit}}.
func timestamp(n column.Nullable) object {
	unit := 1 // milliseconds
	switch {
	case strings.Contains(n.Descr, "[us]"):
		unit = 2
	case strings.Contains(n.Descr, "[ns]"):
		unit = 3
	}
	return object{logicalTimestamp: object{1: n.Zone != "", 2: object{unit: object{}}}}
}

// element returns the SchemaElement of a column. IsText is set if all its strings are UTF-8.
func element(e serialize.Entry, isText bool) encoded {
	const required = 0
	physical, convertedType := physicalOf(e)
	o := object{1: physical, 3: required, 4: e.Name}
	n, nullable := nullableOf(e)
	if nullable {
		o[3] = optional
	}
	if convertedType >= 0 && isText {
		o[6] = convertedType
	}
	switch {
	case physical == physicalFixed:
		o[2], o[10] = sizes[physicalFixed], object{logicalFloat16: object{}}
	case nullable && n.Descr != "" && physical == physicalInt64:
		o[10] = timestamp(n)
	}
	return encode(nil, o)
}

// footer writes the FileMetaData.
func (s *saver) footer(entries []serialize.Entry, rows int, meta map[string]string) {
	schema := []any{object{4: "schema", 5: len(entries)}}
	for i, e := range entries {
		schema = append(schema, element(e, !s.bytes[i]))
	}
	var groups, pairs []any
	for _, chunks := range s.groups {
		groups = append(groups, rowGroup(entries, chunks))
	}
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		pairs = append(pairs, object{1: key, 2: meta[key]})
	}
	metadata := object{1: 1, 2: schema, 3: int64(rows), 4: groups, 6: "h5dnn"}
	if len(pairs) > 0 {
		metadata[5] = pairs
	}
	b := encode(nil, metadata)
	s.write(b)
	s.write(binary.LittleEndian.AppendUint32(nil, uint32(len(b))))
	s.write([]byte(magic))
}
