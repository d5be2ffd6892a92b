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

// byteOrderMark begins UTF-8 text of some programs.
const byteOrderMark = "\ufeff"

// newReader returns a reader of cells. They are separated by tabs if there are any in the
// first line, by semicolons if there are more than commas, else by commas. Text that has no
// line feed has carriage returns instead.
func newReader(r io.Reader) *csv.Reader {
	text := bufio.NewReaderSize(r, 64<<10)
	head, _ := text.Peek(64 << 10) // an error is returned by the first Read too
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		text.Discard(len(byteOrderMark))
		head = head[len(byteOrderMark):]
	}
	end := byte('\n')
	var source io.Reader = text
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		end, source = '\r', returns{text}
	}
	n := comments(head, end)
	text.Discard(n)
	line, _, _ := bytes.Cut(head[n:], []byte{end})
	c := csv.NewReader(source)
	c.TrimLeadingSpace, c.ReuseRecord = true, false
	switch {
	case bytes.Contains(line, []byte("\t")):
		c.Comma = '\t'
	case bytes.Count(line, []byte(";")) > bytes.Count(line, []byte(",")):
		c.Comma = ';'
	}
	return c
}

// comments returns the number of bytes of the comments before a table: lines that begin with #.
// The last one is a header if it has as many cells as the numbers in the line after it, as
// numpy.savetxt writes it; then only its "# " is a comment.
func comments(head []byte, end byte) (n int) {
	for bytes.HasPrefix(head[n:], []byte("#")) {
		comment, rest, ok := bytes.Cut(head[n:], []byte{end})
		if !ok {
			return n
		}
		next, _, _ := bytes.Cut(rest, []byte{end})
		if !bytes.HasPrefix(next, []byte("#")) {
			for _, comma := range []string{"\t", ";", ","} {
				cells := bytes.Split(bytes.TrimRight(next, "\r"), []byte(comma))
				if (len(cells) > 1 || comma == ",") && isNumber(string(bytes.TrimSpace(cells[0]))) && bytes.Count(comment, []byte(comma)) == len(cells)-1 {
					if bytes.HasPrefix(comment, []byte("# ")) {
						n += len("# ")
					}
					return n
				}
			}
			if first, _, _ := bytes.Cut(next, []byte(",")); !bytes.HasPrefix(comment, []byte("# ")) && bytes.Count(comment, []byte(",")) == bytes.Count(next, []byte(",")) && len(first) < len(next) {
				return n // a name that begins with #
			}
		}
		n += len(comment) + 1
	}
	return n
}

// A returns reader makes line feeds of carriage returns.
type returns struct{ io.Reader }

func (r returns) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	for i, x := range b[:n] {
		if x == '\r' {
			b[i] = '\n'
		}
	}
	return n, err
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
	if err := checkText(in); err != nil {
		return nil, err
	}
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

// checkText returns an error if the beginning of a file is not text of single bytes.
func checkText(in serialize.Input) error {
	head := make([]byte, min(in.Size, headSize))
	if err := in.ReadFull(head, 0); err != nil {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")):
		return fmt.Errorf("the text is UTF-16; save it as UTF-8: %w", dtype.ErrType)
	case bytes.IndexByte(head, 0) >= 0:
		return fmt.Errorf("byte %d is zero, so this is not text: %w", bytes.IndexByte(head, 0), dtype.ErrType)
	}
	return nil
}

func (c *column) classify() {
	c.integer, c.unsigned, c.number = true, true, true
	inexact := false
	for _, cell := range c.cells {
		x, err := strconv.ParseInt(cell, 10, 64)
		_, wrong := strconv.ParseUint(cell, 10, 64)
		c.integer, c.unsigned = c.integer && err == nil, c.unsigned && wrong == nil
		// An integer beyond 64 bits is text: converted to a float it would change.
		c.number = c.number && (cell == "" || isNumber(cell) && !errors.Is(err, strconv.ErrRange))
		inexact = inexact || err == nil && !isExact(x) || err != nil && wrong == nil
	}
	// So are integers beyond 53 bits among floats and empty cells.
	c.number = c.number && (c.integer || c.unsigned || !inexact)
}

// isExact reports whether a float64 has the value of x.
func isExact(x int64) bool { return float64(x) < 1<<63 && int64(float64(x)) == x }

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
		return math.Float64frombits(0x7ff8 << 48), nil // as NumPy has it
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
