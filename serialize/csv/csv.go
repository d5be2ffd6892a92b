// Package csv reads and writes comma-separated values: one array of at most two axes, with
// a line for each row, or arrays of one axis, which are columns under a header line.
//
// An array of one axis that has a name is a column, too. Values that are not numbers are quoted
// where necessary. Records become a table with a column for each member and a header line.
//
// A table is parsed when it is opened, and its values go to a temporary file unless they are few;
// its columns are arrays of bools, int64, uint64 or float64, or strings. The first line is a header
// if a cell of it is no number; [Reader] says how a table may be written. Empty cells among
// numbers, and words such as NA, are NaN. Integers that would change when they become floats are
// strings, and so are numbers with separators of thousands.
package csv

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var format = serialize.Format{
	Name: "csv", Extensions: []string{".csv"}, Plain: true, Table: true, Elements: func(string) bool { return true },
	Fits:       func(e serialize.Entry) error { return checkCell(e.Name) },
	FitsValues: func(*serialize.Elements) func(any) error { return checkValue },
}

func init() {
	format.Match, format.Open, format.Save = match, open, save
	serialize.Register(format)
}

func save(w io.Writer, c serialize.Contents) error {
	entries, err := format.Columns(c)
	if err != nil {
		return err
	}
	ctx := c.Context
	if ctx == nil {
		ctx = context.Background()
	}
	if e := entries[0]; len(entries) > 1 || e.Name != "" && len(e.Shape()) == 1 && !isRecords(e) {
		return writeColumns(ctx, w, entries)
	} else if e.Elements != nil {
		return writeValues(ctx, w, e.Elements)
	}
	return writeNumbers(ctx, w, entries[0].Array)
}

// isRecords reports whether elements have members, which become columns with names of their own.
func isRecords(e serialize.Entry) bool { return e.Elements != nil && e.Elements.Type == "compound" }

// A lineWriter writes records.
type lineWriter struct {
	w     *bufio.Writer // of csv, too
	csv   *csv.Writer
	names []string // of the columns; nil without a header line
	row   int      // of the next record, without the header line
	err   error
}

func newLineWriter(w io.Writer) *lineWriter {
	buffered := bufio.NewWriterSize(w, 64<<10)
	return &lineWriter{w: buffered, csv: csv.NewWriter(buffered)}
}

// write writes a record. A single empty cell is quoted, because readers skip blank lines. Errors
// are returned by flush.
func (l *lineWriter) write(cells []string) {
	if len(cells) == 1 && cells[0] == "" {
		l.w.WriteString("\"\"\n")
		return
	}
	for i, cell := range cells {
		if err := checkCell(cell); err != nil && l.err == nil {
			l.err = fmt.Errorf("row %d, column %d: %w", l.row, i, err)
			if l.names != nil {
				l.err = fmt.Errorf("row %d of column %q: %w", l.row, l.names[i], err)
			}
		}
	}
	l.row++
	l.csv.Write(cells)
}

// checkCell returns an error if a text file cannot have a cell.
func checkCell(text string) error {
	if strings.IndexByte(text, 0) >= 0 {
		return fmt.Errorf("%.40q has a zero byte, which text files do not have; write .arrow or .parquet: %w", text, dtype.ErrType)
	}
	return nil
}

// checkValue returns an error if a text file cannot have a value.
func checkValue(value any) error {
	cells := []any{value}
	if record, ok := value.(dtype.Record); ok {
		cells = record.Values
	}
	for _, cell := range cells {
		if text, ok := cell.(string); ok { // others are written without zero bytes
			if err := checkCell(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// header writes the names of columns, in quotes if they would else be taken for values or for a
// comment.
func (l *lineWriter) header(names []string) {
	defer func() { l.names, l.row = names, 0 }()
	plain := slices.ContainsFunc(names, func(name string) bool { return !isNumber(DecimalPoint(name)) && !IsMissing(name) && !isBool(name) })
	if plain && !strings.HasPrefix(names[0], "#") && !strings.HasPrefix(names[0], "sep=") {
		l.write(names)
		return
	}
	for i, name := range names {
		if i > 0 {
			l.w.WriteByte(',')
		}
		l.w.WriteString(`"` + strings.ReplaceAll(name, `"`, `""`) + `"`)
	}
	l.w.WriteByte('\n')
}

func (l *lineWriter) flush() error {
	l.csv.Flush()
	return cmp.Or(l.err, l.csv.Error())
}

// A window is rows of columns that are read together, from a table that may be stored column by
// column, and written in smaller parts.
const (
	windowBytes = 4 << 20
	cellsAtOnce = 1 << 14
)

// writeColumns writes a header line and the columns, a window of lines at a time.
func writeColumns(ctx context.Context, w io.Writer, entries []serialize.Entry) error {
	names, width := make([]string, len(entries)), 0
	for i, e := range entries {
		names[i] = e.Name
		if width += stringBytes; e.Elements == nil {
			width += e.Array.Type.Size() - stringBytes
		}
	}
	lines := newLineWriter(w)
	lines.header(names)
	rows, step := entries[0].Shape()[0], max(1, windowBytes/width)
	window := make([]rowsOf, len(entries))
	for start := 0; start < rows; start += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(step, rows-start)
		for i, e := range entries {
			if err := window[i].read(e, start, start+n); err != nil {
				return fmt.Errorf("%q: %w", e.Name, err)
			}
		}
		if err := writeWindow(lines, window, n); err != nil {
			return err
		}
	}
	return lines.flush()
}

// writeWindow writes rows of columns.
func writeWindow(lines *lineWriter, window []rowsOf, rows int) error {
	columns, line := make([][]string, len(window)), make([]string, len(window))
	step := max(1, cellsAtOnce/len(window))
	for start := 0; start < rows; start += step {
		n := min(step, rows-start)
		for i := range window {
			columns[i] = window[i].cells(start, start+n)
		}
		for k := range n {
			for i := range columns {
				line[i] = columns[i][k]
			}
			lines.write(line)
		}
		if err := lines.flush(); err != nil {
			return err
		}
	}
	return nil
}

// stringBytes is about how many bytes of memory a string takes.
const stringBytes = 64

// A rowsOf is rows of a column.
type rowsOf struct {
	numbers dtype.Type // Invalid if values are no numbers
	elems   []byte
	values  []any
}

// read reads the rows from start up to end.
func (r *rowsOf) read(e serialize.Entry, start, end int) (err error) {
	if e.Elements != nil {
		r.values, err = e.Elements.Values(e.Elements.View.Narrow(0, start, end))
		return err
	}
	r.numbers = e.Array.Type
	r.elems = slices.Grow(r.elems[:0], (end-start)*r.numbers.Size())[:(end-start)*r.numbers.Size()]
	a := e.Array.With(e.Array.View.Narrow(0, start, end))
	return a.CopyTo(storage.Array{Data: storage.Wrap(r.elems), Type: r.numbers, View: views.Of(end - start)})
}

// cells returns the cells from row start up to end.
func (r *rowsOf) cells(start, end int) []string {
	if !r.numbers.Valid() {
		return texts(r.values[start:end])
	}
	size := r.numbers.Size()
	return arrayfmt.Cells(r.numbers, r.elems[start*size:end*size])
}

// columnsOf returns the number of columns of an array of that shape.
func columnsOf(shape []int) (int, error) {
	switch len(shape) {
	case 0, 1:
		return 1, nil
	case 2:
		return shape[1], nil
	}
	return 0, fmt.Errorf("csv: shape %v has %d axes, and a table has two; select a part, as in [0]", shape, len(shape))
}

// Write writes a with a line for every element of its first axis.
func Write(w io.Writer, a storage.Array) error { return writeNumbers(context.Background(), w, a) }

func writeNumbers(ctx context.Context, w io.Writer, a storage.Array) error {
	columns, err := columnsOf(a.Shape)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	column := 0
	for elems, err := range blocks.Elements(ctx, a, blocks.Size) {
		if err != nil {
			return err
		}
		for part := range slices.Chunk(elems, cellsAtOnce*a.Type.Size()) {
			for _, cell := range arrayfmt.Cells(a.Type, part) { // numbers need no quotes
				column++
				buffered.WriteString(cell)
				if column == columns {
					column = 0
					buffered.WriteByte('\n')
				} else {
					buffered.WriteByte(',')
				}
			}
			if err := cmp.Or(ctx.Err(), buffered.Flush()); err != nil {
				return err
			}
		}
	}
	return buffered.Flush()
}

// valuesAtOnce is about how many values are read together.
const valuesAtOnce = 1 << 16

// writeValues is Write for elements that are not numbers.
func writeValues(ctx context.Context, w io.Writer, e *serialize.Elements) error {
	columns, err := columnsOf(e.View.Shape)
	if err != nil {
		return err
	}
	lines := newLineWriter(w)
	var line []string
	headed := false
	for part, err := range blocks.Views(ctx, e.View, valuesAtOnce) {
		if err != nil {
			return err
		}
		values, err := e.Values(part)
		if err != nil {
			return err
		}
		for _, value := range values {
			if record, ok := value.(dtype.Record); ok && columns == 1 {
				if !headed {
					lines.write(record.Names)
					lines.names, lines.row, headed = record.Names, 0, true
				}
				lines.write(texts(record.Values))
				continue
			}
			if line = append(line, texts([]any{value})...); len(line) == columns {
				lines.write(line)
				line = line[:0]
			}
		}
		if err := lines.flush(); err != nil {
			return err
		}
	}
	return nil
}

func texts(values []any) []string {
	cells := make([]string, len(values))
	for k, value := range values {
		text, ok := value.(string)
		if !ok {
			text = dtype.FormatValue(value)
		}
		cells[k] = text
	}
	return cells
}
