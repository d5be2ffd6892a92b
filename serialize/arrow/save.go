package arrow

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
)

// Rows of a batch with some columns in memory: strings, bools and columns whose elements may
// be missing. A table of other numbers is one batch, which is mapped when it is read.
const (
	mostRows  = 1 << 16
	leastRows = 1 << 10
	mostCells = 1 << 20 // rows times columns
)

const (
	alignment = 64 // of buffers
	version5  = int16(4)
)

// saveStream writes columns without compression. Times, and what was read as something else because
// elements are missing, may have nulls.
func saveStream(w io.Writer, c serialize.Contents) error {
	s := &saver{w: bufio.NewWriterSize(w, 1<<20)}
	if _, err := s.table(streamFormat, c); err != nil {
		return err
	}
	return s.w.Flush()
}

// saveFile writes a stream, and a footer that says where its batches are.
func saveFile(w io.Writer, c serialize.Contents) error {
	s := &saver{w: bufio.NewWriterSize(w, 1<<20)}
	s.Write([]byte(magic + "\x00\x00"))
	schema, err := s.table(fileFormat, c)
	if err != nil {
		return err
	}
	footer := encode(object{version5, schema, structs{}, s.blocks})
	s.Write(footer)
	s.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))), magic...))
	return s.w.Flush()
}

// A saver counts what it writes. Flush of w returns the first error.
type saver struct {
	w      *bufio.Writer
	at     int64
	blocks structs // where the batches are
}

func (s *saver) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.at += int64(n)
	return n, err
}

// table writes the schema and the batches, and returns the schema.
func (s *saver) table(format serialize.Format, c serialize.Contents) (object, error) {
	entries, rows, err := column.Of(format, c)
	if err != nil {
		return nil, err
	}
	step := max(1, rows)
	var fields []object
	for _, e := range entries {
		kind, typ, err := typeOf(c, e)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", e.Name, err)
		}
		_, nullable := column.NullableOf(e)
		fields = append(fields, object{e.Name, nullable, kind, typ, nil, []object{}})
		if nullable || e.Elements != nil || e.Array.Type == dtype.Bool {
			step = max(leastRows, min(mostRows, mostCells/len(entries)))
		}
	}
	var meta any
	if len(c.Meta) > 0 {
		var pairs []object
		for _, key := range slices.Sorted(maps.Keys(c.Meta)) {
			pairs = append(pairs, object{key, c.Meta[key]})
		}
		meta = pairs
	}
	schema := object{int16(0), fields, meta}
	s.message(schemaMessage, schema, 0)
	for start := 0; start < rows; start += step {
		if err := c.Err(); err != nil {
			return nil, err
		}
		if err := s.batch(entries, start, min(start+step, rows)); err != nil {
			return nil, err
		}
	}
	_, err = s.Write(binary.LittleEndian.AppendUint64(nil, continuation)) // the end of the stream
	return schema, err
}

// typeOf returns the type of a column. Strings are read to find out whether all are UTF-8.
func typeOf(c serialize.Contents, e serialize.Entry) (uint8, object, error) {
	if n, ok := column.NullableOf(e); ok {
		kind, typ := nullableType(n)
		return kind, typ, nil
	}
	if e.Elements != nil {
		isText, err := allUTF8(c, e)
		if isText {
			return typeUTF8, object{}, err
		}
		return typeBinary, object{}, err
	}
	kind, typ := numberOf(e.Array.Type)
	return kind, typ, nil
}

// nullableType returns the type of times, integers or bools. Days are int32.
func nullableType(n column.Nullable) (uint8, object) {
	unit := int16(max(0, slices.IndexFunc(units, func(unit string) bool { return strings.Contains(n.Descr, "["+unit+"]") })))
	switch {
	case n.Descr == "":
		return numberOf(n.Type)
	case n.Kind == column.Time("D"):
		return typeDate, object{int16(0)}
	case n.Descr[1] == 'm':
		return typeDuration, object{unit}
	case n.Zone == "":
		return typeTimestamp, object{unit}
	}
	return typeTimestamp, object{unit, n.Zone}
}

func allUTF8(c serialize.Contents, e serialize.Entry) (bool, error) {
	rows := e.Shape()[0]
	for start := 0; start < rows; start += mostRows {
		if err := c.Err(); err != nil {
			return false, err
		}
		values, err := e.Elements.Values(e.Elements.View.Narrow(0, start, min(start+mostRows, rows)))
		if err != nil {
			return false, err
		}
		for _, value := range values {
			if text, ok := value.(string); ok && !utf8.ValidString(text) {
				return false, nil
			}
		}
	}
	return true, nil
}

func numberOf(t dtype.Type) (uint8, object) {
	switch t {
	case dtype.Bool:
		return typeBool, object{}
	case dtype.Float16:
		return typeFloat, object{int16(0)}
	case dtype.Float32:
		return typeFloat, object{int16(1)}
	case dtype.Float64:
		return typeFloat, object{int16(2)}
	default:
		return typeInt, object{int32(8 * t.Size()), t.IsSigned()}
	}
}

// message writes the metadata of a message, so that its body is aligned, and returns their
// size.
func (s *saver) message(kind uint8, header object, body int64) int64 {
	b := encode(object{version5, kind, header, body})
	b = append(b, make([]byte, padding(s.at+8+int64(len(b))))...)
	prefix := binary.LittleEndian.AppendUint32(nil, continuation)
	s.Write(binary.LittleEndian.AppendUint32(prefix, uint32(len(b))))
	s.Write(b)
	return 8 + int64(len(b))
}

// padding returns how many bytes align a position.
func padding(at int64) int64 { return -at & (alignment - 1) }

// batch writes rows of all columns.
func (s *saver) batch(entries []serialize.Entry, start, end int) error {
	le := binary.LittleEndian
	nodes, buffers, body := structs{}, structs{}, int64(0)
	var content []buffered
	for _, e := range entries {
		list, nulls, err := buffersOf(e, start, end)
		if err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
		nodes.n++
		nodes.b = le.AppendUint64(le.AppendUint64(nodes.b, uint64(end-start)), uint64(nulls))
		content = append(content, list...)
		for _, b := range list {
			buffers.n++
			buffers.b = le.AppendUint64(le.AppendUint64(buffers.b, uint64(body)), uint64(b.size))
			body += b.size + padding(b.size)
		}
	}
	at := s.at
	head := s.message(batchMessage, object{int64(end - start), nodes, buffers}, body)
	s.blocks.n++
	for _, x := range []int64{at, head, body} {
		s.blocks.b = le.AppendUint64(s.blocks.b, uint64(x))
	}
	for _, b := range content {
		if err := b.write(s); err != nil {
			return err
		}
		s.Write(make([]byte, padding(s.at)))
	}
	return nil
}

// A buffered buffer has the given size in bytes, and is written after the sizes of all others.
type buffered struct {
	size  int64
	write func(w io.Writer) error
}

// inMemory returns the buffer of bytes.
func inMemory(b []byte) buffered {
	return buffered{int64(len(b)), func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}}
}

// buffersOf returns the buffers of rows of a column, and the number of nulls. The first buffer has a
// bit for each row that is not null; it is empty if there are no nulls.
func buffersOf(e serialize.Entry, start, end int) (list []buffered, nulls int, err error) {
	if n, ok := column.NullableOf(e); ok {
		numbers, valid, err := n.Read(start, end)
		if err != nil {
			return nil, 0, err
		}
		for _, ok := range valid {
			if !ok {
				nulls++
			}
		}
		present := bitsOf(valid)
		if nulls == 0 {
			present = nil
		}
		elements, err := elementsOf(n, numbers)
		return []buffered{inMemory(present), inMemory(elements)}, nulls, err
	}
	if e.Elements != nil {
		offsets, content, err := texts(e, start, end)
		return []buffered{inMemory(nil), inMemory(offsets), inMemory(content)}, 0, err
	}
	a := e.Array.With(e.Array.View.Narrow(0, start, end))
	if a.Type == dtype.Bool {
		bools, err := storage.Read[bool](a)
		return []buffered{inMemory(nil), inMemory(bitsOf(bools))}, 0, err
	}
	numbers := buffered{int64(a.NBytes()), func(w io.Writer) error {
		if err := serialize.WriteLittleEndian(w, a); err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
		return nil
	}}
	return []buffered{inMemory(nil), numbers}, 0, nil
}

// elementsOf returns numbers of a column as they are stored.
func elementsOf(n column.Nullable, numbers []byte) ([]byte, error) {
	switch {
	case n.Kind == column.Time("D"):
		return column.AppendDays(nil, numbers)
	case n.Type == dtype.Bool:
		return bitsOf(dtype.Cast[bool](numbers)), nil
	}
	serialize.NormalizeBytes(numbers, n.Type, binary.LittleEndian)
	return numbers, nil
}

// bitsOf returns bools as bits.
func bitsOf(bools []bool) []byte {
	b := make([]byte, (len(bools)+7)/8)
	for i, x := range bools {
		if x {
			b[i/8] |= 1 << (i % 8)
		}
	}
	return b
}

// texts returns the offsets of strings and their bytes.
func texts(e serialize.Entry, start, end int) (offsets, content []byte, err error) {
	values, err := e.Elements.Values(e.Elements.View.Narrow(0, start, end))
	offsets = make([]byte, 4, 4*(end-start+1))
	for _, value := range values {
		text, ok := value.(string)
		if !ok {
			return nil, nil, fmt.Errorf("%.40q is not a string: %w", value, dtype.ErrType)
		}
		if len(text) > math.MaxInt32-len(content) {
			return nil, nil, fmt.Errorf("%d rows of strings have more than 2 GiB; save them as parquet: %w", end-start, dtype.ErrType)
		}
		content = append(content, text...)
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(len(content)))
	}
	return offsets, content, err
}
