package csv

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
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
	lines, err := newReader(bytes.NewReader(head)).ReadAll()
	if err != nil || len(lines) < 2 || len(lines[0]) < 2 && !isNumber(lines[0][0]) {
		return serialize.NoMatch
	}
	for _, line := range lines[1:] {
		if !slices.ContainsFunc(line, isNumber) {
			return serialize.NoMatch
		}
	}
	return serialize.ContainerMatch
}

func isNumber(cell string) bool {
	_, err := strconv.ParseFloat(cell, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// newReader returns a reader of cells. They are separated by tabs if there are any in the
// first line, by semicolons if there are more than commas, else by commas.
func newReader(r io.Reader) *csv.Reader {
	text := bufio.NewReaderSize(r, 64<<10)
	head, _ := text.Peek(64 << 10) // an error is returned by the first Read too
	line, _, _ := bytes.Cut(head, []byte("\n"))
	c := csv.NewReader(text)
	c.TrimLeadingSpace, c.ReuseRecord = true, false
	switch {
	case bytes.Contains(line, []byte("\t")):
		c.Comma = '\t'
	case bytes.Count(line, []byte(";")) > bytes.Count(line, []byte(",")):
		c.Comma = ';'
	}
	return c
}

// A column is the cells of a column.
type column struct {
	name     string
	cells    []string
	integer  bool // all cells are integers
	unsigned bool // all are not negative
	number   bool // all are numbers, or empty
}

// open reads a table into memory. With a header, each column is an array of integers, of
// floats, in which empty cells are NaN, or of strings. Without one, the table is an array
// of two axes.
func open(in serialize.Input) (serialize.File, error) {
	const cost, columnCost = 32, 512 // bytes of memory for a cell and a column, about
	r := newReader(io.NewSectionReader(in, 0, in.Size))
	var columns []column
	header := false
	for count := 0; ; count++ {
		if count%4096 == 0 && in.Err() != nil {
			return nil, in.Err()
		}
		line, err := r.Read()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = in.Budget.Allocate((cost*(count+1)+columnCost)*len(line), int(in.Size))
		}
		if err != nil {
			return nil, err
		}
		if count == 0 {
			columns = make([]column, len(line))
			header = slices.ContainsFunc(line, func(cell string) bool { return !isNumber(cell) && cell != "" })
		}
		for i, cell := range line {
			if count > 0 || !header {
				columns[i].cells = append(columns[i].cells, cell)
			} else {
				columns[i].name = cell
			}
		}
	}
	if len(columns) == 0 {
		return nil, errors.New("the table has no line")
	}
	for i := range columns {
		columns[i].classify()
	}
	list := serialize.NewList(len(columns), nil, in.Close)
	if !header && !slices.ContainsFunc(columns, func(c column) bool { return !c.number }) {
		return list, list.Add(serialize.Entry{Name: in.ArrayName(), Array: table(columns)}, nil)
	}
	for i, c := range columns {
		if c.name == "" || list.Has(c.name) {
			c.name = fmt.Sprintf("column %d", i+1)
		}
		if err := list.Add(c.entry(), nil); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *column) classify() {
	c.integer, c.unsigned, c.number = true, true, true
	for _, cell := range c.cells {
		_, err := strconv.ParseInt(cell, 10, 64)
		_, wrong := strconv.ParseUint(cell, 10, 64)
		c.integer, c.unsigned = c.integer && err == nil, c.unsigned && wrong == nil
		// An integer beyond 64 bits is text: converted to a float it would change.
		c.number = c.number && (cell == "" || isNumber(cell) && !errors.Is(err, strconv.ErrRange))
	}
}

// entry returns a column with a name.
func (c column) entry() serialize.Entry {
	e := serialize.Entry{Name: c.name}
	switch n := len(c.cells); {
	case c.integer:
		e.Array = storage.From(parsed(c.cells, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }), n)
	case c.unsigned:
		e.Array = storage.From(parsed(c.cells, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }), n)
	case c.number:
		e.Array = storage.From(parsed(c.cells, parseFloat), n)
	default:
		e.Elements = &serialize.Elements{View: views.Of(n), Type: "string", Values: c.values}
	}
	return e
}

func parsed[T dtype.Go](cells []string, parse func(string) (T, error)) []T {
	list := make([]T, len(cells))
	for i, cell := range cells {
		list[i], _ = parse(cell) // classify has parsed it
	}
	return list
}

// parseFloat returns the number nearest to a cell, and NaN for an empty one.
func parseFloat(cell string) (float64, error) {
	if cell == "" {
		return math.NaN(), nil
	}
	return strconv.ParseFloat(cell, 64)
}

func (c column) values(v views.View) ([]any, error) {
	if !v.Within(len(c.cells)) {
		return nil, fmt.Errorf("%v reaches outside of %d cells: %w", v.Shape, len(c.cells), views.ErrShape)
	}
	list := make([]any, 0, v.Len())
	for at := range v.Positions() {
		list = append(list, c.cells[at])
	}
	return list, nil
}

// table returns columns of numbers as an array with a row for each line.
func table(columns []column) storage.Array {
	rows := len(columns[0].cells)
	integers := !slices.ContainsFunc(columns, func(c column) bool { return !c.integer })
	if integers {
		return transposed(columns, rows, func(c column) []int64 {
			return parsed(c.cells, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
		})
	}
	return transposed(columns, rows, func(c column) []float64 { return parsed(c.cells, parseFloat) })
}

func transposed[T dtype.Go](columns []column, rows int, read func(column) []T) storage.Array {
	list := make([]T, rows*len(columns))
	for i, c := range columns {
		for k, x := range read(c) {
			list[k*len(columns)+i] = x
		}
	}
	return storage.From(list, rows, len(columns))
}
