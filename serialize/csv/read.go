package csv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// headSize is the number of bytes of a file that match reads.
const headSize = 4096

// match fits a table whose lines have equally many cells, except for the first, and at
// least one number in the second. There is no signature.
func match(r io.ReaderAt, size int64) serialize.Confidence {
	head := make([]byte, min(size, headSize))
	if n, _ := r.ReadAt(head, 0); n < len(head) {
		return serialize.NoMatch
	}
	if size > headSize { // the last line is cut off
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	if slices.ContainsFunc(head, func(b byte) bool { return b < ' ' && b != '\n' && b != '\r' && b != '\t' }) {
		return serialize.NoMatch
	}
	t := NewReader(bytes.NewReader(head))
	if len(t.Names) == 1 {
		return serialize.NoMatch
	}
	for lines := 0; ; lines++ {
		cells, _, err := t.Read()
		if err == io.EOF && lines > 0 && (lines > 1 || t.Names != nil) {
			break
		}
		if err != nil || !slices.ContainsFunc(cells, func(cell string) bool { return isNumber(DecimalPoint(cell)) }) {
			return serialize.NoMatch
		}
	}
	return serialize.ContainerMatch
}

// open reads a table twice: first what the columns are, then their values, to a
// [column.Scratch]. With a header, each column is an array of bools, of integers, of floats, in which
// missing cells are NaN, or of strings. Without one, a table of numbers is an array of two axes.
func open(in serialize.Input) (serialize.File, error) {
	kinds, rows, header, err := classify(in)
	if err != nil {
		return nil, err
	}
	t := &table{in: in, kinds: kinds, rows: rows}
	if kind, ok := matrixOf(kinds); ok && !header {
		t.matrix = &kind
	}
	list, err := t.read()
	if err != nil {
		t.scratch.Close()
		return nil, err
	}
	return list, nil
}

// A table is an open file.
type table struct {
	in      serialize.Input
	kinds   []cellKind
	rows    int
	matrix  *column.Kind // of one array of two axes; nil for columns
	scratch column.Scratch
	closed  atomic.Bool
}

// Close closes the file and its scratch.
func (t *table) Close() error {
	t.closed.Store(true)
	return errors.Join(t.scratch.Close(), t.in.Close())
}

func (t *table) check() error {
	if t.closed.Load() {
		return fmt.Errorf("%s: the file is closed; open it again to read its arrays: %w", t.in.Name, storage.ErrState)
	}
	return nil
}

// read reads the values and lists the columns, or the one array.
func (t *table) read() (*serialize.List, error) {
	var columns []*values
	if t.matrix != nil {
		columns = slices.Repeat([]*values{{Kind: *t.matrix, spool: t.scratch.Spool(*t.matrix)}}, len(t.kinds))
	} else {
		for _, k := range t.kinds {
			kind := k.kind()
			columns = append(columns, &values{Kind: kind, spool: t.scratch.Spool(kind)})
		}
	}
	if err := t.fill(columns); err != nil {
		return nil, err
	}
	list := serialize.NewList(len(columns), nil, t.Close)
	if t.matrix != nil {
		e, err := t.entry(t.in.ArrayName(), columns[0], t.rows, len(t.kinds))
		if err != nil {
			return nil, err
		}
		return list, list.Add(e, nil)
	}
	names := make([]string, len(t.kinds))
	for i, k := range t.kinds {
		if names[i] = k.name; k.name == "" {
			names[i] = fmt.Sprintf("column %d", i+1)
		}
	}
	for i, name := range column.Distinct(names) {
		e, err := t.entry(name, columns[i], t.rows)
		if err != nil {
			return nil, err
		}
		column.Add(list, name, names[i], []serialize.Entry{e}, nil)
	}
	return list, nil
}

// fill parses the cells.
func (t *table) fill(columns []*values) error {
	pending := 0 // bytes, about
	flush := func() error {
		pending = 0
		for _, c := range columns {
			if err := c.flush(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := t.eachRow(func(line []string) error {
		for i, cell := range line {
			if err := columns[i].add(cell); err != nil {
				return err
			}
			pending += numberBytes
			if !columns[i].Type.Valid() {
				pending += stringBytes + len(cell)
			}
		}
		if pending < windowBytes {
			return nil
		}
		return flush()
	}); err != nil {
		return err
	}
	return flush()
}

// entry returns values as an array of that shape, or as strings.
func (t *table) entry(name string, v *values, shape ...int) (serialize.Entry, error) {
	e := serialize.Entry{Name: name}
	if v.Type.Valid() {
		source, err := v.spool.Source(t.in.Name, t.check)
		e.Array = storage.Array{Data: source, Type: v.Type, View: views.Of(shape...)}
		return e, err
	}
	e.Elements = &serialize.Elements{View: views.Of(shape...), Type: "string", Values: func(view views.View) ([]any, error) {
		if err := t.check(); err != nil {
			return nil, err
		}
		if !view.Within(t.rows) {
			return nil, fmt.Errorf("%v reaches outside of %d cells: %w", view.Shape, t.rows, views.ErrShape)
		}
		return v.spool.Strings(view)
	}}
	return e, nil
}

// classify reads what the columns of a table are, and how many rows it has below the header,
// if the first line is one.
func classify(in serialize.Input) (columns []cellKind, rows int, header bool, err error) {
	t := NewReader(io.NewSectionReader(in, 0, in.Size))
	names := t.Names
	err = t.each(in, func(line []string) error {
		if rows++; rows == 1 {
			if columns, err = kindsOf(in, len(line), names); err != nil {
				return err
			}
		}
		for i, cell := range line {
			columns[i].classify(cell)
		}
		return nil
	})
	if err == nil && rows == 0 {
		columns, err = kindsOf(in, len(names), names)
	}
	if err == nil && len(columns) == 0 {
		err = errors.New("the table has no line")
	}
	decide(columns, t.Comma)
	return columns, rows, names != nil, err
}

// kindsOf returns the kinds of the given number of columns before any cell is known.
func kindsOf(in serialize.Input, n int, names []string) ([]cellKind, error) {
	const columnCost = 512 // bytes of memory, about
	if err := in.Budget.Allocate(columnCost*n, int(in.Size)); err != nil {
		return nil, err
	}
	columns := make([]cellKind, n)
	for i := range columns {
		columns[i] = newCellKind("")
		if names != nil {
			columns[i].name = names[i]
		}
	}
	return columns, nil
}

// each calls use with the cells of each record, which are valid until the next call.
func (t *Reader) each(in serialize.Input, use func(cells []string) error) error {
	for count := 0; ; count++ {
		if count%4096 == 0 && in.Err() != nil {
			return in.Err()
		}
		cells, _, err := t.Read()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = use(cells)
		}
		if err != nil {
			return err
		}
	}
}

// eachRow calls use with the cells of each row of a table that has been read before.
func (t *table) eachRow(use func(cells []string) error) error {
	row := 0
	r := NewReader(io.NewSectionReader(t.in, 0, t.in.Size))
	err := r.each(t.in, func(cells []string) error {
		if row++; row > t.rows || len(cells) != len(t.kinds) {
			return errChanged
		}
		return use(cells)
	})
	if err == nil && row != t.rows {
		err = errChanged
	}
	return err
}

var errChanged = fmt.Errorf("the table changed while it was read; read it again: %w", storage.ErrState)

// values are parsed cells. The last of them are in memory.
type values struct {
	column.Kind
	column.Values
	spool *column.Spool
}

// numberBytes is the size of a number.
const numberBytes = 8

// add parses a cell.
func (v *values) add(cell string) error {
	var bits uint64
	var err error
	switch v.Type {
	case dtype.Bool:
		if !isBool(cell) {
			return errChanged
		}
		b := byte(0)
		if bools[trimmed(cell)] {
			b = 1
		}
		v.Numbers = append(v.Numbers, b)
		return nil
	case dtype.Int64:
		var x int64
		x, err = strconv.ParseInt(trimmed(cell), 10, 64)
		bits = uint64(x)
	case dtype.Uint64:
		bits, err = strconv.ParseUint(trimmed(cell), 10, 64)
	case dtype.Float64:
		var x float64
		x, err = parseFloat(cell)
		bits = math.Float64bits(x)
	default:
		v.Texts = append(v.Texts, strings.Clone(cell)) // cells are parts of lines
		return nil
	}
	if err != nil {
		return errChanged
	}
	v.Numbers = binary.NativeEndian.AppendUint64(v.Numbers, bits)
	return nil
}

// flush moves the values to the spool.
func (v *values) flush() error {
	if len(v.Numbers)+len(v.Texts) == 0 {
		return nil
	}
	err := v.spool.Append(&v.Values)
	v.Numbers, v.Texts = v.Numbers[:0], v.Texts[:0]
	return err
}
