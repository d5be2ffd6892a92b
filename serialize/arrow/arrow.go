// Package arrow reads and writes tables in the IPC formats of Apache Arrow: files, which
// Feather version 2 are too, and streams.
//
// Columns of numbers, bools, strings and times are read when their elements are asked for; numbers
// that are stored in one batch without compression are mapped; integers and bools some of which
// are missing are float64s with NaN, as in pandas, or strings if float64 has not all of them. Other columns are listed with an error. The formats are described in arrow.apache.org/docs/format/Columnar.html.
package arrow

import (
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

var (
	fileFormat   = serialize.Format{Name: "arrow", Extensions: []string{".arrow", ".feather"}}
	streamFormat = serialize.Format{Name: "arrow-stream", Extensions: []string{".arrows"}}
)

func init() {
	for _, f := range []*serialize.Format{&fileFormat, &streamFormat} {
		f.Table, f.Meta = true, true
		f.Types = []dtype.Type{dtype.Bool, dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Float16, dtype.Float32, dtype.Float64}
		f.Elements = func(typ string) bool { return typ == "string" }
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
	columns      []*columnReader // nil for those that are not read
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
	for i, field := range f.fields {
		e, err := f.entry(field, f.columns[i])
		if err := out.Add(e, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (f *file) entry(field field, c *columnReader) (serialize.Entry, error) {
	if c == nil {
		return serialize.Unsupported(field.name, []int{f.rows}, field.unsupported)
	}
	missing := slices.ContainsFunc(c.parts, func(p part) bool { return p.nulls > 0 })
	e := (&column.Column{Table: f.table, Kind: field.kind, Missing: missing, Stored: c.stored, Start: c.start}).Entry(field.name)
	t := field.kind.Type
	if t.Valid() && len(c.parts) == 1 && c.parts[0].plain() && !field.index.Valid() && t != dtype.Bool && t == field.stores {
		extent := c.parts[0].buffers[1]
		if n := int64(f.rows * t.Size()); n <= extent.size {
			source, err := f.sections.Section(extent.at, n)
			if err != nil {
				return e, err
			}
			e.Array.Data = serialize.Normalize(source, t, binary.LittleEndian)
		}
	}
	return e, nil
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
		if x.layout.nodes == 0 {
			return fmt.Errorf("%q: elements of type %s; the columns after it cannot be found: %w", x.name, x.unsupported, dtype.ErrType)
		}
		var c *columnReader
		if x.unsupported == "" {
			c = &columnReader{file: f, field: x}
		}
		f.fields, f.columns = append(f.fields, x), append(f.columns, c)
		if c == nil || !x.index.Valid() {
			continue
		}
		values := x.value()
		if other, ok := f.values[x.id]; ok && (other.kind != values.kind || other.offsets != values.offsets || other.stringViews != values.stringViews) {
			return fmt.Errorf("%q: dictionary %d has values of two types: %w", x.name, x.id, errMetadata)
		}
		f.values[x.id] = values
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
		if f.rows += rows; f.rows > math.MaxInt/16 {
			return fmt.Errorf("%d rows: %w", f.rows, errMetadata)
		}
		for i, c := range f.columns {
			if c != nil {
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

// parts returns the part of each field in a record batch.
func (f *file) parts(m message, batch table, fields []field) (rows int, parts []part, err error) {
	if batch.buffer == nil {
		return 0, nil, fmt.Errorf("there is no record batch: %w", errMetadata)
	}
	length := batch.int(0, 8)
	nodesAt, nodes := batch.vector(1, 16)
	buffersAt, buffers := batch.vector(2, 16)
	viewsAt, variadic := batch.vector(4, 8)
	codec := int64(uncompressed)
	if compression := batch.sub(3); compression.buffer != nil {
		codec = compression.int(0, 1)
		if method := compression.int(1, 1); method != 0 {
			return 0, nil, fmt.Errorf("compression method %d, which is not read: %w", method, dtype.ErrType)
		}
	}
	if length < 0 || length > math.MaxInt/16 {
		return 0, nil, fmt.Errorf("a batch of %d rows: %w", length, errMetadata)
	}
	node, next, view := 0, 0, 0
	parts = make([]part, len(fields))
	for i, x := range fields {
		take := x.layout.buffers
		for range x.layout.views {
			if view >= variadic {
				return 0, nil, fmt.Errorf("%q: its buffers are not counted: %w", x.name, errMetadata)
			}
			n := batch.uint(viewsAt+8*view, 8)
			if n > uint64(buffers) {
				return 0, nil, fmt.Errorf("%q: %d buffers: %w", x.name, n, errMetadata)
			}
			view, take = view+1, take+int(n)
		}
		if node+x.layout.nodes > nodes || next+take > buffers {
			return 0, nil, fmt.Errorf("%q: a batch has %d nodes and %d buffers: %w", x.name, nodes, buffers, errMetadata)
		}
		if x.unsupported == "" {
			total := int64(0)
			p := part{rows: int(length), nulls: int64(batch.uint(nodesAt+16*node+8, 8)), codec: codec}
			if rows := batch.uint(nodesAt+16*node, 8); rows != uint64(length) || p.nulls < 0 || p.nulls > length {
				return 0, nil, fmt.Errorf("%q: %d rows and %d nulls in a batch of %d: %w", x.name, rows, p.nulls, length, errMetadata)
			}
			for k := range take {
				at, size := int64(batch.uint(buffersAt+16*(next+k), 8)), int64(batch.uint(buffersAt+16*(next+k)+8, 8))
				if at < 0 || size < 0 || at > m.size || size > m.size-at {
					return 0, nil, fmt.Errorf("%q: a buffer of %d bytes at %d in a body of %d: %w", x.name, size, at, m.size, errMetadata)
				}
				if total += size; total > m.size {
					return 0, nil, fmt.Errorf("%q: its buffers overlap in a body of %d bytes: %w", x.name, m.size, errMetadata)
				}
				p.buffers = append(p.buffers, extent{m.body + at, size})
			}
			parts[i] = p
		}
		node, next = node+x.layout.nodes, next+take
	}
	if batch.err == nil && (node != nodes || next != buffers) {
		return 0, nil, fmt.Errorf("a batch has %d nodes and %d buffers instead of %d and %d: %w", nodes, buffers, node, next, errMetadata)
	}
	return int(length), parts, batch.err
}
