package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// csvRow returns how many cells a line has: those of the second axis.
func csvRow(shape []int) (int, error) {
	switch len(shape) {
	case 0, 1:
		return 1, nil
	case 2:
		return shape[1], nil
	}
	return 0, fmt.Errorf("csv: shape %v has %d axes, lines and columns are 2; select some, as in [0]", shape, len(shape))
}

// writeCSV writes a with a line for every element of its first axis.
func writeCSV(ctx context.Context, w io.Writer, a storage.Array) error {
	columns, err := csvRow(a.Shape)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	column := 0
	for elems, err := range elements(ctx, a, blockBytes) {
		if err != nil {
			return err
		}
		for _, cell := range values(a.Type, elems) { // no number needs quotes
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

// writeCSVValues is writeCSV for values of [hdf5.Dataset.Values]. Records in a
// row become a table: a column for each member, named in the first line.
func writeCSVValues(w io.Writer, shape []int, values []any) error {
	columns, err := csvRow(shape)
	if err != nil || len(values) == 0 {
		return err
	}
	lines := csv.NewWriter(w)
	if record, ok := values[0].(hdf5.Record); ok && columns == 1 {
		lines.Write(record.Names)
		for _, value := range values {
			lines.Write(csvCells(value.(hdf5.Record).Values))
		}
	} else {
		for ; len(values) > 0; values = values[columns:] {
			lines.Write(csvCells(values[:columns]))
		}
	}
	lines.Flush()
	return lines.Error()
}

func csvCells(values []any) []string {
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
