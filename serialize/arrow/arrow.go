// Package arrow reads and writes tables in the IPC formats of Apache Arrow: files, which
// Feather version 2 are too, and streams.
//
// Columns of numbers, bools, strings, bytes and times are read when their elements are asked for; numbers
// that are stored in one batch without compression are mapped; integers and bools some of which
// are missing are float64s with NaN, as in pandas, or strings if float64 has not all of them, and
// have their type in the attribute arrow.type. Such columns and times are written as they were. Members of structs are columns of their own, "point.x". Lists that
// have one length are arrays of two axes; of others, the elements are "name/values", where each
// list starts is "name/offsets", and which lists are missing "name/missing". Other
// columns, lists of lists of several lengths among them, are listed with an error. The formats are described in
// arrow.apache.org/docs/format/Columnar.html.
package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	fileFormat   = serialize.Format{Name: "arrow", Extensions: []string{".arrow", ".feather"}}
	streamFormat = serialize.Format{Name: "arrow-stream", Extensions: []string{".arrows"}}
)

func init() {
	for _, f := range []*serialize.Format{&fileFormat, &streamFormat} {
		f.Table, f.Meta = true, true
		f.Types = []dtype.Type{dtype.Bool, dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Float16, dtype.Float32, dtype.Float64}
		f.Elements = func(typ string) bool { return typ == "string" }
		f.Attr = column.KeepsAttr
	}
	fileFormat.Match, fileFormat.Open, fileFormat.Save = matchFile, openFile, saveFile
	streamFormat.Match, streamFormat.Open, streamFormat.Save = matchStream, openStream, saveStream
	serialize.Register(fileFormat)
	serialize.Register(streamFormat)
}

const magic = "ARROW1"

// tailSize is the size of what ends a file: the size of the footer, and the magic.
const tailSize = 4 + len(magic)

func matchFile(r io.ReaderAt, size int64) serialize.Confidence {
	head, tail := make([]byte, len(magic)), make([]byte, len(magic))
	if size < int64(8+tailSize) {
		return serialize.NoMatch
	}
	if _, err := r.ReadAt(head, 0); err != nil || string(head) != magic {
		return serialize.NoMatch
	}
	if n, _ := r.ReadAt(tail, size-int64(len(magic))); n < len(tail) || string(tail) != magic {
		return serialize.NoMatch
	}
	return serialize.ExactMatch
}

// matchStream looks for a schema, the beginning of a stream.
func matchStream(r io.ReaderAt, size int64) serialize.Confidence {
	var head [4]byte
	if n, _ := r.ReadAt(head[:], 0); n < len(head) || binary.LittleEndian.Uint32(head[:]) != continuation {
		return serialize.NoMatch
	}
	f := &file{in: serialize.Input{ReaderAt: r, Size: size}}
	if m, err := f.message(0); err != nil || m.kind != schemaMessage {
		return serialize.NoMatch
	}
	return serialize.ExactMatch
}

// A file is an open file.
type file struct {
	in           serialize.Input
	sections     *serialize.Sections
	fields       []field
	columns      []*columnReader
	rows         int
	dictionaries map[int64]*dictionary
	values       map[int64]field // of dictionaries
	meta         map[string]string
	used         int64 // bytes of the messages so far
	table        *column.Table
}

// openFile reads the footer, which is at the end, and the messages to which it refers:
//
//	"ARROW1", 2 bytes, stream, footer, int32 size of that, "ARROW1"
func openFile(in serialize.Input) (serialize.File, error) {
	if in.Size < int64(8+tailSize) {
		return nil, fmt.Errorf("%d bytes are not an Arrow file: %w", in.Size, storage.ErrState)
	}
	tail := make([]byte, tailSize)
	if err := in.ReadFull(tail, in.Size-int64(tailSize)); err != nil {
		return nil, err
	}
	size := int64(binary.LittleEndian.Uint32(tail))
	if string(tail[4:]) != magic || size > in.Size-int64(8+tailSize) {
		return nil, fmt.Errorf("a footer of %d bytes in a file of %d; it may be truncated: %w", size, in.Size, storage.ErrState)
	}
	footer := &buffer{b: make([]byte, size)}
	if err := in.ReadFull(footer.b, in.Size-int64(tailSize)-size); err != nil {
		return nil, err
	}
	root := footer.table(0)
	return list(in, func(f *file) error {
		if err := f.schema(root.sub(1)); err != nil {
			return err
		}
		for _, vector := range []int{2, 3} { // dictionaries, and record batches
			at, n := root.vector(vector, 24)
			for i := 0; i < n && footer.err == nil; i++ {
				m, err := f.message(int64(footer.uint(at+24*i, 8)))
				if err == nil && m.kind != map[int]int{2: dictionaryMessage, 3: batchMessage}[vector] {
					err = fmt.Errorf("message %d has kind %d: %w", i, m.kind, errMetadata)
				}
				if err == nil {
					err = f.add(m)
				}
				if err != nil {
					return err
				}
			}
		}
		return footer.err
	})
}

// openStream reads the messages in their order: the schema, and then dictionaries and record
// batches.
func openStream(in serialize.Input) (serialize.File, error) {
	return list(in, func(f *file) error {
		m, err := f.message(0)
		if err == nil && m.kind != schemaMessage {
			err = fmt.Errorf("the stream begins with a message of kind %d instead of a schema: %w", m.kind, errMetadata)
		}
		if err == nil {
			err = f.schema(m.header)
		}
		for err == nil {
			if m, err = f.message(m.end()); err != nil || m.kind == endOfStream {
				return err
			}
			err = f.add(m)
		}
		return err
	})
}

// list lists the columns after read has read the messages.
func list(in serialize.Input, read func(*file) error) (serialize.File, error) {
	sections, err := in.Sections()
	if err != nil {
		return nil, err
	}
	f := &file{in: in, sections: sections, dictionaries: map[int64]*dictionary{}, values: map[int64]field{}}
	out, err := f.list(read)
	if err != nil {
		sections.Release()
		return nil, err
	}
	return out, nil
}

func (f *file) list(read func(*file) error) (*serialize.List, error) {
	if err := read(f); err != nil {
		return nil, err
	}
	f.table = &column.Table{In: f.in, Rows: f.rows, Check: f.sections.Check}
	out := serialize.NewList(len(f.fields), f.meta, func() error { return errors.Join(f.sections.Close(), f.table.Scratch.Close()) })
	names := make([]string, len(f.columns))
	for i, c := range f.columns {
		names[i] = c.path
	}
	for i, name := range column.Distinct(names) {
		f.columns[i].path = name
		entries, err := f.entries(f.columns[i])
		column.Add(out, name, names[i], entries, err)
	}
	return out, nil
}

// entries returns the arrays that a column is: one, or those of lists of several lengths.
func (f *file) entries(c *columnReader) ([]serialize.Entry, error) {
	if c.unsupported != "" {
		e, err := serialize.Unsupported(c.path, []int{f.rows}, c.unsupported)
		return []serialize.Entry{e}, err
	}
	if c.list {
		lists := &column.Lists{Table: f.table, Kind: c.kind, Inner: c.sizes, Stored: c.stored, Start: c.startLists}
		for _, p := range c.parts {
			lists.Most += p.rows
		}
		return lists.Entries(c.path)
	}
	missing := slices.ContainsFunc(c.parts, func(p part) bool { return p.nulls > 0 || len(p.masks) > 0 })
	whole := &column.Column{Table: f.table, Kind: c.kind, Missing: missing, Stored: c.stored, Start: c.start}
	if c.sizes != nil {
		whole.Shape = slices.Concat([]int{f.rows}, c.sizes)
	}
	e, err := whole.Entry(c.path)
	if err != nil {
		return []serialize.Entry{e}, err
	}
	t := c.kind.Type
	if t.Valid() && !c.null && len(c.parts) == 1 && c.parts[0].plain() && !c.index.Valid() && t != dtype.Bool && t == c.stores {
		extent := c.parts[0].buffers[1]
		if n := int64(e.Array.Len() * t.Size()); n <= extent.size {
			source, err := f.sections.Section(extent.at, n)
			if err != nil {
				return []serialize.Entry{e}, err
			}
			e.Array.Data = serialize.Normalize(source, t, binary.LittleEndian)
		}
	}
	return []serialize.Entry{e}, nil
}

// Kinds of messages.
const (
	endOfStream, schemaMessage, dictionaryMessage, batchMessage = 0, 1, 2, 3

	continuation = 0xFFFFFFFF
)

// A message is metadata, and a body of buffers.
type message struct {
	kind       int
	header     table
	body, size int64 // of the body: where it begins, and its bytes
}

func (m message) end() int64 { return m.body + m.size }

// message reads the metadata of the message at a position:
//
//	uint32 0xFFFFFFFF (not before version 0.15), int32 size, metadata, body
func (f *file) message(at int64) (m message, err error) {
	if at == f.in.Size {
		return m, nil // streams may end so
	}
	if at < 0 || at > f.in.Size-4 {
		return m, fmt.Errorf("a message at byte %d of %d; the file may be truncated: %w", at, f.in.Size, storage.ErrState)
	}
	var word [4]byte
	if err := f.in.ReadFull(word[:], at); err != nil {
		return m, err
	}
	at += 4
	if binary.LittleEndian.Uint32(word[:]) == continuation {
		if err := f.in.ReadFull(word[:], at); err != nil {
			return m, err
		}
		at += 4
	}
	size := int64(binary.LittleEndian.Uint32(word[:]))
	if size == 0 {
		return m, nil
	}
	if size > f.in.Size-at {
		return m, fmt.Errorf("a message of %d bytes at byte %d of %d; the file may be truncated: %w", size, at, f.in.Size, storage.ErrState)
	}
	if f.used += size; f.used > f.in.Size {
		return m, fmt.Errorf("messages overlap: %w", errMetadata)
	}
	b := &buffer{b: make([]byte, size)}
	if err := f.in.ReadFull(b.b, at); err != nil {
		return m, err
	}
	root := b.table(0)
	m = message{kind: int(root.int(1, 1)), header: root.sub(2), body: at + size, size: root.int(3, 8)}
	switch {
	case b.err != nil:
		return m, b.err
	case m.header.buffer == nil || m.kind < schemaMessage:
		return m, fmt.Errorf("a message of kind %d without a header: %w", m.kind, errMetadata)
	case m.size < 0 || m.size > f.in.Size-m.body:
		return m, fmt.Errorf("a body of %d bytes at byte %d of %d; the file may be truncated: %w", m.size, m.body, f.in.Size, storage.ErrState)
	}
	if f.used += m.size; f.used > f.in.Size {
		return m, fmt.Errorf("messages overlap: %w", errMetadata)
	}
	return m, nil
}

// schema reads the fields and the metadata.
func (f *file) schema(t table) error {
	if t.buffer == nil {
		return fmt.Errorf("there is no schema: %w", errMetadata)
	}
	if t.int(0, 2) != 0 {
		return fmt.Errorf("the elements are big-endian, which is not read; write the file on a little-endian machine: %w", dtype.ErrType)
	}
	f.meta = map[string]string{}
	for _, pair := range t.tables(2) {
		f.meta[pair.text(0)] = pair.text(1)
	}
	for _, child := range t.tables(1) {
		x := fieldOf(child, 0)
		if t.err != nil {
			break
		}
		if x.unknown {
			return fmt.Errorf("%q: elements of type %s; the columns after it cannot be found: %w", x.name, x.unsupported, dtype.ErrType)
		}
		x.refuseNested(false, false, 1)
		f.fields = append(f.fields, x)
		for _, c := range f.readers(x, columnReader{file: f}) {
			f.columns = append(f.columns, c)
			if c.unsupported != "" || !c.index.Valid() {
				continue
			}
			values := c.value()
			if other, ok := f.values[c.id]; ok && (other.kind != values.kind || other.offsets != values.offsets || other.stringViews != values.stringViews) {
				return fmt.Errorf("%q: dictionary %d has values of two types: %w", c.path, c.id, errMetadata)
			}
			f.values[c.id] = values
		}
	}
	return t.err
}

// add adds a dictionary or a record batch.
func (f *file) add(m message) error {
	switch m.kind {
	case batchMessage:
		rows, parts, err := f.parts(m, m.header, f.fields)
		if err != nil {
			return err
		}
		if f.rows += rows; f.rows > maxElements {
			return fmt.Errorf("%d rows: %w", f.rows, errMetadata)
		}
		for i, c := range f.columns {
			if c.unsupported == "" {
				if c.index.Valid() {
					parts[i].dictionary = f.dictionaries[c.id]
				}
				c.parts = append(c.parts, parts[i])
			}
		}
	case dictionaryMessage:
		id := m.header.int(0, 8)
		values, ok := f.values[id]
		if !ok {
			return m.header.err // of a column that is not read
		}
		_, parts, err := f.parts(m, m.header.sub(1), []field{values})
		if err != nil {
			return fmt.Errorf("dictionary %d: %w", id, err)
		}
		d := &dictionary{part: parts[0]}
		if m.header.int(2, 1) != 0 {
			d.before = f.dictionaries[id]
		}
		f.dictionaries[id] = d
	default:
		return fmt.Errorf("a message of kind %d, which is not read: %w", m.kind, dtype.ErrType)
	}
	return nil
}
