package arrow

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/views"
)

// stringRows is how many rows a batch of a table with strings has; those of a column are
// in memory. A table of numbers is one batch, which is mapped when it is read.
var stringRows = 1 << 16

const (
	alignment = 64 // of buffers
	version5  = int16(4)
)

// nullableRows is how many rows of a column of which some may be missing are in memory, a multiple
// of 8.
const nullableRows = 1 << 16

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
	entries, err := format.Columns(c)
	if err != nil {
		return nil, err
	}
	if shape := entries[0].Shape(); len(shape) != 1 {
		return nil, fmt.Errorf("%q has shape %v, and Arrow files hold columns; slice it, or use npz: %w", entries[0].Name, shape, views.ErrShape)
	}
	rows := entries[0].Shape()[0]
	step := max(1, rows)
	var fields []object
	for _, e := range entries {
		kind, typ, err := typeOf(c, e)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", e.Name, err)
		}
		_, nullable := column.NullableOf(e)
		fields = append(fields, object{e.Name, nullable, kind, typ, nil, []object{}})
		if e.Elements != nil {
			step = stringRows
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
	for start := 0; start < rows; start += stringRows {
		if err := c.Err(); err != nil {
			return false, err
		}
		values, err := e.Elements.Values(blocks.Between(e.Elements.View, 0, start, min(start+stringRows, rows)))
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
	missing := make([]int64, len(entries))
	for i, e := range entries {
		sizes, nulls, err := sizesOf(e, start, end)
		missing[i] = nulls
		nodes.n++
		nodes.b = le.AppendUint64(le.AppendUint64(nodes.b, uint64(end-start)), uint64(nulls))
		if err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
		for _, size := range sizes {
			buffers.n++
			buffers.b = le.AppendUint64(le.AppendUint64(buffers.b, uint64(body)), uint64(size))
			body += size + padding(size)
		}
	}
	at := s.at
	head := s.message(batchMessage, object{int64(end - start), nodes, buffers}, body)
	s.blocks.n++
	for _, x := range []int64{at, head, body} {
		s.blocks.b = le.AppendUint64(s.blocks.b, uint64(x))
	}
	bodyAt := s.at
	for i, e := range entries {
		if err := s.column(e, start, end, missing[i]); err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
	}
	if s.at-bodyAt != body {
		return fmt.Errorf("a batch of %d bytes became one of %d; its strings have changed: %w", body, s.at-bodyAt, dtype.ErrType)
	}
	return nil
}

// sizesOf returns the sizes of the buffers of a column, and how many nulls there are.
func sizesOf(e serialize.Entry, start, end int) (sizes []int64, nulls int64, err error) {
	n := int64(end - start)
	if column, ok := column.NullableOf(e); ok {
		err := nullableParts(column, start, end, func(_ []byte, valid []bool) error {
			for _, ok := range valid {
				if !ok {
					nulls++
				}
			}
			return nil
		})
		size := n * int64(widthOf(column))
		if column.Type == dtype.Bool {
			size = (n + 7) / 8
		}
		if nulls == 0 {
			return []int64{0, size}, 0, err
		}
		return []int64{(n + 7) / 8, size}, nulls, err
	}
	switch {
	case e.Elements != nil:
		offsets, content, err := texts(e, start, end)
		return []int64{0, int64(len(offsets)), int64(len(content))}, 0, err
	case e.Array.Type == dtype.Bool:
		return []int64{0, (n + 7) / 8}, 0, nil
	}
	return []int64{0, n * int64(e.Array.Type.Size())}, 0, nil
}

// widthOf returns the bytes of an element.
func widthOf(n column.Nullable) int {
	if n.Kind == column.Time("D") {
		return 4
	}
	return n.Type.Size()
}

// nullableParts calls use with the numbers of rows, and which of them are valid, part by part.
func nullableParts(n column.Nullable, start, end int, use func(numbers []byte, valid []bool) error) error {
	for ; start < end; start += nullableRows {
		numbers, valid, err := n.Read(start, min(start+nullableRows, end))
		if err == nil {
			err = use(numbers, valid)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nullable writes rows of a column of which nulls are missing.
func (s *saver) nullable(n column.Nullable, start, end int, nulls int64) error {
	if nulls > 0 {
		err := nullableParts(n, start, end, func(_ []byte, valid []bool) error {
			_, err := s.Write(bitsOf(valid))
			return err
		})
		if err = cmp.Or(err, s.pad()); err != nil {
			return err
		}
	}
	err := nullableParts(n, start, end, func(numbers []byte, valid []bool) error {
		switch {
		case n.Type == dtype.Bool:
			bools := make([]bool, len(numbers))
			for i, x := range numbers {
				bools[i] = x != 0
			}
			numbers = bitsOf(bools)
		case widthOf(n) < n.Type.Size():
			var err error
			if numbers, err = column.AppendDays(nil, numbers); err != nil {
				return err
			}
		default:
			serialize.NormalizeBytes(numbers, n.Type, binary.LittleEndian)
		}
		_, err := s.Write(numbers)
		return err
	})
	if err != nil {
		return err
	}
	return s.pad()
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

// column writes rows of a column, of which nulls are missing.
func (s *saver) column(e serialize.Entry, start, end int, nulls int64) error {
	if n, ok := column.NullableOf(e); ok {
		return s.nullable(n, start, end, nulls)
	}
	if e.Elements != nil {
		offsets, content, err := texts(e, start, end)
		if err != nil {
			return err
		}
		s.Write(offsets)
		s.pad()
		s.Write(content)
		return s.pad()
	}
	a := e.Array.With(blocks.Between(e.Array.View, 0, start, end))
	var err error
	if a.Type == dtype.Bool {
		err = s.bits(a.Len(), blocks.Elements(context.Background(), a, blocks.Size))
	} else {
		err = serialize.WriteLittleEndian(s, a)
	}
	if err != nil {
		return err
	}
	return s.pad()
}

func (s *saver) pad() error {
	_, err := s.Write(make([]byte, padding(s.at)))
	return err
}

// bits writes bools as bits.
func (s *saver) bits(n int, elements func(func([]byte, error) bool)) error {
	var bits byte
	count := 0
	for b, err := range elements {
		if err != nil {
			return err
		}
		for _, x := range b {
			bits |= x << (count % 8)
			if count++; count%8 == 0 || count == n {
				if err := s.writeByte(bits); err != nil {
					return err
				}
				bits = 0
			}
		}
	}
	return nil
}

func (s *saver) writeByte(b byte) error {
	s.at++
	return s.w.WriteByte(b)
}

// texts returns the offsets of strings and their bytes.
func texts(e serialize.Entry, start, end int) (offsets, content []byte, err error) {
	values, err := e.Elements.Values(blocks.Between(e.Elements.View, 0, start, end))
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
