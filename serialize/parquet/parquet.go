// Package parquet reads and writes tables in Apache Parquet: columns of numbers, bools and
// strings.
//
// Columns are read when their elements are asked for. Integers and bools some of which are
// missing are float64s with NaN, as in pandas, or strings if float64 has not all of them, and have
// their type in the attribute arrow.type. Such columns and times, but for seconds, are written as they were. Members of structs are columns of their own, "point.x". Lists that
// have one length are arrays of two axes; of others, the elements are "name/values", where each
// list starts is "name/offsets", and which lists are missing "name/missing". Lists of lists, and the
// compressions that few programs write, are listed with an error. The format is described
// in github.com/apache/parquet-format.
package parquet

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
)

var format = serialize.Format{
	Name: "parquet", Extensions: []string{".parquet"}, Table: true, Meta: true,
	Types:    []dtype.Type{dtype.Bool, dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Float16, dtype.Float32, dtype.Float64},
	Elements: func(typ string) bool { return typ == "string" },
	Attr:     keepsAttr,
}

func init() {
	format.Match, format.Open, format.Save = match, open, save
	serialize.Register(format)
}

const (
	magic     = "PAR1"
	encrypted = "PARE" // the metadata are encrypted
)

func match(r io.ReaderAt, size int64) serialize.Confidence {
	var head, tail [4]byte
	if size < 12 {
		return serialize.NoMatch
	}
	if _, err := r.ReadAt(head[:], 0); err != nil || string(head[:]) != magic && string(head[:]) != encrypted {
		return serialize.NoMatch
	}
	if _, err := r.ReadAt(tail[:], size-4); err != nil || tail != head {
		return serialize.NoMatch
	}
	return serialize.ExactMatch
}

// Physical types, and the converted types that say what they are.
const (
	physicalBool, physicalInt32, physicalInt64, physicalInt96, physicalFloat, physicalDouble, physicalBytes, physicalFixed = 0, 1, 2, 3, 4, 5, 6, 7
)

var physicalNames = []string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

// converted are the types of integers by their converted type.
var converted = map[int64]dtype.Type{11: dtype.Uint8, 12: dtype.Uint16, 13: dtype.Uint32, 14: dtype.Uint64, 15: dtype.Int8, 16: dtype.Int16, 17: dtype.Int32, 18: dtype.Int64}

// A file is an open file.
type file struct {
	in       serialize.Input
	sections *serialize.Sections
	rows     int
	table    *column.Table
}

// open reads the metadata, which are at the end:
//
//	"PAR1", pages, FileMetaData, uint32 size of that, "PAR1"
func open(in serialize.Input) (serialize.File, error) {
	var tail [8]byte
	if in.Size < 12 {
		return nil, fmt.Errorf("%d bytes are not a Parquet file: %w", in.Size, storage.ErrState)
	}
	if err := in.ReadFull(tail[:], in.Size-8); err != nil {
		return nil, err
	}
	if string(tail[4:]) == encrypted {
		return nil, fmt.Errorf("the file is encrypted; programs that have its key can write it without: %w", dtype.ErrType)
	}
	size := int64(binary.LittleEndian.Uint32(tail[:]))
	if string(tail[4:]) != magic || size > in.Size-12 {
		return nil, fmt.Errorf("metadata of %d bytes in a file of %d; it may be truncated, or encrypted: %w", size, in.Size, storage.ErrState)
	}
	b := make([]byte, size)
	if err := in.ReadFull(b, in.Size-8-size); err != nil {
		return nil, err
	}
	d := &decoder{b: b, budget: in.Budget}
	metadata := d.object(0)
	if d.err != nil {
		return nil, d.err
	}
	sections, err := in.Sections()
	if err != nil {
		return nil, err
	}
	f := &file{in: in, sections: sections}
	list, err := f.columns(metadata)
	if err != nil {
		sections.Release()
		return nil, err
	}
	return list, nil
}

// columns lists the columns of a FileMetaData.
func (f *file) columns(metadata object) (*serialize.List, error) {
	meta := map[string]string{}
	for _, pair := range list(metadata, 5) {
		pair, _ := pair.(object)
		meta[text(pair, 1)] = text(pair, 2)
	}
	rows := integer(metadata, 3)
	schema := list(metadata, 2)
	if len(schema) == 0 || rows < 0 || rows > math.MaxInt/16 {
		return nil, fmt.Errorf("%d rows, and %d elements of the schema: %w", rows, len(schema), errThrift)
	}
	f.rows = int(rows)
	f.table = &column.Table{In: f.in, Rows: f.rows, Check: f.sections.Check}
	out := serialize.NewList(len(schema), meta, func() error { return errors.Join(f.sections.Close(), f.table.Scratch.Close()) })
	leaves, err := leavesOf(schema)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(leaves))
	for i, x := range leaves {
		names[i] = x.name
	}
	for i, name := range column.Distinct(names) {
		leaves[i].name = name
		entries, err := f.column(leaves[i], metadata, i)
		column.Add(out, name, names[i], entries, err)
	}
	return out, nil
}

// column returns the arrays that the column of a leaf is: one, or those of lists of several lengths.
func (f *file) column(x leaf, metadata object, index int) ([]serialize.Entry, error) {
	c, err := f.reader(x, metadata, index)
	if err != nil {
		e, _ := serialize.Unsupported(x.name, []int{f.rows}, cmp.Or(x.nested, typeName(x.element)))
		return []serialize.Entry{e}, err
	}
	if x.repetition > 0 {
		return (&column.Lists{Table: f.table, Kind: c.kind, Most: c.values, Stored: func() int { return c.stored }, Start: c.start}).Entries(x.name)
	}
	_, missing := sub(x.element, 10)[logicalNull]
	missing = missing || slices.ContainsFunc(c.chunks, func(k chunk) bool { return k.nulls > 0 })
	unknown := x.definition > 0 && slices.ContainsFunc(c.chunks, func(k chunk) bool { return k.nulls < 0 })
	exact := !slices.ContainsFunc(c.chunks, func(k chunk) bool { return !k.exact })
	whole := &column.Column{Table: f.table, Kind: c.kind, Missing: missing, Unknown: unknown, Exact: exact, Stored: func() int { return c.stored }, Start: c.start}
	e, err := whole.Entry(x.name)
	return []serialize.Entry{e}, err
}

// typeName returns the name of a type that is not read.
func typeName(element object) string {
	physical := integer(element, 1)
	if physical < 0 || int(physical) >= len(physicalNames) {
		return fmt.Sprintf("unknown (%d)", physical)
	}
	return physicalNames[physical]
}

// reader returns the reader of a column. Errors do not name it.
func (f *file) reader(x leaf, metadata object, index int) (*columnReader, error) {
	element, physical := x.element, integer(x.element, 1)
	c := &columnReader{file: f, leaf: x, physical: physical}
	unsupported := func(typ string) (*columnReader, error) {
		_, err := serialize.Unsupported(x.name, nil, typ)
		return nil, err
	}
	switch {
	case x.nested != "":
		return unsupported(x.nested)
	case physical < 0 || int(physical) >= len(physicalNames):
		return unsupported(typeName(element))
	case isDecimal(element):
		if c.decimal = decimalOf(element); c.decimal == nil {
			return unsupported("decimal")
		}
	case physical == physicalBytes:
	case physical == physicalInt32 || physical == physicalInt64:
		c.kind = integerOf(physical, element)
	case physical == physicalBool:
		c.kind.Type = dtype.Bool
	case physical == physicalFloat:
		c.kind.Type = dtype.Float32
	case physical == physicalDouble:
		c.kind.Type = dtype.Float64
	case physical == physicalInt96:
		c.kind = column.Time("ns") // of Spark and Hive
	case physical == physicalFixed && isFloat16(element):
		c.kind.Type = dtype.Float16
	default:
		return unsupported(typeName(element))
	}
	if size := c.kind.Type.Size(); c.decimal == nil && (physical == physicalInt32 && size > 4 && c.kind.Descr == "" || physical == physicalInt64 && size != 8) {
		return nil, fmt.Errorf("%v in %s: %w", c.kind.Type, physicalNames[physical], errThrift)
	}
	return c, c.findChunks(list(metadata, 4), index)
}

// chunkCrypto is the field of a ColumnChunk that says with which key it is encrypted.
const chunkCrypto = 8

// findChunks finds the pages of the column in row groups.
func (c *columnReader) findChunks(groups []any, index int) error {
	f, total := c.file, int64(0)
	for _, group := range groups {
		group, _ := group.(object)
		chunks := list(group, 1)
		if index >= len(chunks) {
			return fmt.Errorf("a row group has %d columns: %w", len(chunks), errThrift)
		}
		chunk, _ := chunks[index].(object)
		if _, ok := chunk[chunkCrypto]; ok {
			return fmt.Errorf("the column is encrypted; programs that have its key can write it without: %w", dtype.ErrType)
		}
		chunk = sub(chunk, 3)
		if err := c.checkRead(chunk); err != nil {
			return err
		}
		k := chunkOf(chunk, integer(group, 3), c.kind.Type.IsSigned())
		if total += k.rows; k.rows < 0 || k.at < 0 || k.size < 0 || k.at > f.in.Size || k.size > f.in.Size-k.at || total > int64(f.rows) {
			return fmt.Errorf("a chunk of %d rows and %d bytes at %d in a file of %d rows and %d bytes: %w", k.rows, k.size, k.at, f.rows, f.in.Size, errThrift)
		}
		if c.repetition == 0 {
			k.values = k.rows
		}
		if k.values < 0 || k.values > math.MaxInt/16-int64(c.values) {
			return fmt.Errorf("a chunk of %d values: %w", k.values, errThrift)
		}
		c.values += int(k.values)
		if c.stored += int(k.size); c.stored > int(f.in.Size) {
			return fmt.Errorf("its chunks overlap in a file of %d bytes: %w", f.in.Size, errThrift)
		}
		c.chunks = append(c.chunks, k)
	}
	if total != int64(f.rows) {
		return fmt.Errorf("row groups of %d rows in a file of %d: %w", total, f.rows, errThrift)
	}
	return nil
}

// Converted types of times, and fields of the union of logical types.
const (
	convertedDecimal, convertedDate, convertedTimeMillis, convertedTimeMicros, convertedMillis, convertedMicros = 5, 6, 7, 8, 9, 10

	logicalDecimal, logicalDate, logicalTime, logicalTimestamp, logicalNull, logicalFloat16 = 5, 6, 7, 8, 11, 15
)

// checkRead returns an error if a chunk has a compression or an encoding that is not read.
func (c *columnReader) checkRead(meta object) error {
	if codec := integer(meta, 4); codecNames[codec] != "" {
		return fmt.Errorf("compression %s is not read; known are Snappy, gzip, Zstandard and LZ4_RAW: %w", codecNames[codec], dtype.ErrType)
	}
	for _, encoding := range list(meta, 2) {
		id, ok := encoding.(int64)
		if ok && (id < plain || id > byteStreamSplit) {
			return fmt.Errorf("encoding %d is not read: %w", id, dtype.ErrType)
		}
		if ok && c.decimal != nil && encodingNames[id] != "" && id != bitPacked && id != deltaPacked {
			return fmt.Errorf("decimals in encoding %s are not read: %w", encodingNames[id], dtype.ErrType)
		}
	}
	return nil
}

// isFloat16 reports whether elements of a fixed length are numbers.
func isFloat16(element object) bool {
	_, ok := sub(element, 10)[logicalFloat16]
	return ok && integer(element, 2) == 2
}

// isDecimal reports whether the elements are decimals, whose digits are stored as integers or
// bytes.
func isDecimal(element object) bool {
	_, ok := sub(element, 10)[logicalDecimal]
	return ok || integer(element, 6) == convertedDecimal
}

// A decimal is what the elements of a column of decimals are, which are strings here.
type decimal struct {
	size  int // bytes, or 0 if each has its own
	scale int // digits after the point
}

// decimalOf returns what decimals are, or nil if they are not read.
func decimalOf(element object) *decimal {
	d := &decimal{scale: int(integer(element, 7))}
	if logical, ok := sub(element, 10)[logicalDecimal].(object); ok {
		d.scale = int(integer(logical, 1))
	}
	switch integer(element, 1) {
	case physicalInt32:
		d.size = 4
	case physicalInt64:
		d.size = 8
	case physicalFixed:
		d.size = int(integer(element, 2))
	}
	const maxSize = 32 // bytes of 76 digits
	if d.scale < 0 || d.scale > column.MaxScale || d.size > maxSize || d.size <= 0 && integer(element, 1) != physicalBytes || integer(element, 1) < physicalInt32 || integer(element, 1) == physicalInt96 || integer(element, 1) == physicalFloat || integer(element, 1) == physicalDouble {
		return nil
	}
	return d
}

// integerOf returns what integers are: numbers, or times since 1970 or midnight.
func integerOf(physical int64, element object) column.Kind {
	logical := sub(element, 10)
	for _, is := range []struct {
		field int
		kind  func(unit string) column.Kind
	}{{logicalTime, column.Duration}, {logicalTimestamp, column.Time}} {
		unit := sub(sub(logical, is.field), 2)
		for i, name := range []string{"ms", "us", "ns"} {
			if _, ok := unit[i+1]; ok {
				kind := is.kind(name)
				if utc, _ := sub(logical, is.field)[1].(bool); utc && is.field == logicalTimestamp {
					kind.Zone = "UTC"
				}
				return kind
			}
		}
	}
	if _, ok := logical[logicalDate]; ok {
		return column.Time("D")
	}
	id, ok := element[6].(int64)
	switch {
	case !ok:
	case id == convertedDate:
		return column.Time("D")
	case id == convertedTimeMillis:
		return column.Duration("ms")
	case id == convertedTimeMicros:
		return column.Duration("us")
	case id == convertedMillis:
		return column.Time("ms")
	case id == convertedMicros:
		return column.Time("us")
	case converted[id].Valid():
		return column.Kind{Type: converted[id]}
	}
	return column.Kind{Type: map[int64]dtype.Type{physicalInt32: dtype.Int32, physicalInt64: dtype.Int64}[physical]}
}

// A chunk is the pages of a column in a row group.
type chunk struct {
	at, size, rows int64
	values         int64 // and levels without one
	codec          int64
	nulls          int64 // or -1 if their number is not known
	exact          bool  // integers are known to be float64s
}

func chunkOf(meta object, rows int64, signed bool) chunk {
	at := integer(meta, 9)
	if dictionary, ok := meta[11].(int64); ok && dictionary > 0 && dictionary < at {
		at = dictionary
	}
	k := chunk{at: at, size: integer(meta, 7), rows: rows, values: integer(meta, 5), codec: integer(meta, 4), nulls: -1}
	statistics := sub(meta, 12)
	if n, ok := statistics[3].(int64); ok {
		k.nulls = n
	}
	k.exact = isExact(statistics[5], signed) && isExact(statistics[6], signed)
	return k
}

// isExact reports whether a bound of integers of 64 bits is a float64, as are all less than 2^53.
func isExact(bound any, signed bool) bool {
	b, ok := bound.(string)
	if !ok || len(b) != 8 {
		return false
	}
	const limit = 1 << 53
	x := int64(binary.LittleEndian.Uint64([]byte(b)))
	return x < limit && (x >= 0 || signed && x > -limit)
}
