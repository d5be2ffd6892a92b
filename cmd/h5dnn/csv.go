package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"

	"github.com/h5dnn/h5dnn/storage"
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

// writeCSVCells is writeCSV for texts.
func writeCSVCells(w io.Writer, shape []int, cells []string) error {
	columns, err := csvRow(shape)
	if err != nil || columns == 0 {
		return err
	}
	lines := csv.NewWriter(w)
	for ; len(cells) > 0; cells = cells[columns:] {
		lines.Write(cells[:columns])
	}
	lines.Flush()
	return lines.Error()
}
