// Package csv makes comma-separated values one of the formats of package serialize
// that are written: one array of at most two axes, with a line for each row.
//
// Values that are not numbers are quoted where necessary. Records become a table with
// a column for each member and a header line.
package csv

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

var format = serialize.Format{
	Name: "csv", Extensions: []string{".csv"}, Single: true, Elements: func(string) bool { return true },
}

func init() {
	format.Save = save
	serialize.Register(format)
}

func save(w io.Writer, c serialize.Contents) error {
	e, err := format.Only(c)
	if err != nil {
		return err
	}
	if e.Elements == nil {
		return Write(w, e.Array)
	}
	ctx := c.Context
	if ctx == nil {
		ctx = context.Background()
	}
	return writeValues(ctx, w, e.Elements)
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
func Write(w io.Writer, a storage.Array) error {
	columns, err := columnsOf(a.Shape)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	column := 0
	for elems, err := range blocks.Elements(context.Background(), a, blocks.Size) {
		if err != nil {
			return err
		}
		for _, cell := range arrayfmt.Cells(a.Type, elems) { // numbers need no quotes
			column++
			buffered.WriteString(cell)
			if column == columns {
				column = 0
				buffered.WriteByte('\n')
			} else {
				buffered.WriteByte(',')
			}
		}
		if err := buffered.Flush(); err != nil {
			return err
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
	lines := csv.NewWriter(w)
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
			if record, ok := value.(hdf5.Record); ok && columns == 1 {
				if !headed {
					lines.Write(record.Names)
					headed = true
				}
				lines.Write(texts(record.Values))
				continue
			}
			if line = append(line, texts([]any{value})...); len(line) == columns {
				lines.Write(line)
				line = line[:0]
			}
		}
		if lines.Flush(); lines.Error() != nil {
			return lines.Error()
		}
	}
	return nil
}

func texts(values []any) []string {
	cells := make([]string, len(values))
	for k, value := range values {
		text, ok := value.(string)
		if !ok {
			text = hdf5.Format(value)
		}
		cells[k] = text
	}
	return cells
}
