package csv

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

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

// A column is what the cells of a column are, and then their values.
type column struct {
	name     string
	integer  bool // all cells are integers
	unsigned bool // all are not negative
	number   bool // all are numbers, or empty
	inexact  bool // some are integers that are no float64

	integers  []int64
	unsigneds []uint64
	floats    []float64
	texts     []string
}

// open reads a table into memory: first what the columns are, then their values, so that no
// more than these is kept. With a header, each column is an array of integers, of floats, in
// which empty cells are NaN, or of strings. Without one, the table is an array of two axes.
func open(in serialize.Input) (serialize.File, error) {
	if err := checkText(in); err != nil {
		return nil, err
	}
	columns, rows, header, err := classify(in)
	if err != nil {
		return nil, err
	}
	list := serialize.NewList(len(columns), nil, in.Close)
	if !header && !slices.ContainsFunc(columns, func(c column) bool { return !c.number }) {
		a, err := table(in, columns, rows)
		if err != nil {
			return nil, err
		}
		return list, list.Add(serialize.Entry{Name: in.ArrayName(), Array: a}, nil)
	}
	for i := range columns {
		columns[i].allocate(rows)
	}
	if err := eachRow(in, header, rows, func(row int, line []string) error {
		for i, cell := range line {
			if err := columns[i].set(row, cell); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return nil, err
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

// classify reads what the columns of a table are, and how many rows it has below the header,
// if the first line is one.
func classify(in serialize.Input) (columns []column, rows int, header bool, err error) {
	const cost, columnCost = 32, 512 // bytes of memory for a cell and a column, about
	err = eachLine(in, func(count int, line []string) error {
		if err := in.Budget.Allocate((cost*(count+1)+columnCost)*len(line), int(in.Size)); err != nil {
			return err
		}
		if count == 0 {
			header = slices.ContainsFunc(line, func(cell string) bool { return !isNumber(cell) && cell != "" })
			columns = make([]column, len(line))
			for i := range columns {
				columns[i] = column{integer: true, unsigned: true, number: true}
				if header {
					columns[i].name = strings.Clone(line[i])
				}
			}
			if header {
				return nil
			}
		}
		rows++
		for i, cell := range line {
			columns[i].classify(cell)
		}
		return nil
	})
	if err == nil && len(columns) == 0 {
		err = errors.New("the table has no line")
	}
	for i := range columns {
		c := &columns[i] // integers beyond 53 bits are text among floats and empty cells
		c.number = c.number && (c.integer || c.unsigned || !c.inexact)
	}
	return columns, rows, header, err
}

// garbage is how many bytes of lines are read between collections of garbage.
const garbage = 32 << 20

// eachLine calls use with the number and the cells of each line. These are valid until the
// next call.
func eachLine(in serialize.Input, use func(count int, line []string) error) error {
	r := newReader(io.NewSectionReader(in, 0, in.Size))
	r.ReuseRecord = true
	collected := int64(0)
	for count := 0; ; count++ {
		if count%4096 == 0 && in.Err() != nil {
			return in.Err()
		}
		// Each line is a string, and without this as many of them as there are values would be
		// in memory before they are collected.
		if at := r.InputOffset(); at-collected > garbage {
			collected = at
			runtime.GC()
		}
		line, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = use(count, line)
		}
		if err != nil {
			return err
		}
	}
}

// eachRow is eachLine without the header, for a table that has been read before.
func eachRow(in serialize.Input, header bool, rows int, use func(row int, line []string) error) error {
	first, end := 0, 0
	if header {
		first = 1
	}
	err := eachLine(in, func(count int, line []string) error {
		if count < first {
			return nil
		}
		if end = count - first + 1; end > rows {
			return errChanged
		}
		return use(count-first, line)
	})
	if err == nil && end != rows {
		err = errChanged
	}
	return err
}

var errChanged = fmt.Errorf("the table changed while it was read; read it again: %w", storage.ErrState)

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

// classify notes what a further cell is.
func (c *column) classify(cell string) {
	switch {
	case !c.integer && !c.unsigned && !c.number:
		return
	case !mayBeInteger(cell):
		c.integer, c.unsigned, c.number = false, false, c.number && (cell == "" || isNumber(cell))
		return
	}
	x, err := strconv.ParseInt(cell, 10, 64)
	_, wrong := strconv.ParseUint(cell, 10, 64)
	c.integer, c.unsigned = c.integer && err == nil, c.unsigned && wrong == nil
	// An integer beyond 64 bits is text: converted to a float it would change.
	c.number = c.number && isNumber(cell) && !errors.Is(err, strconv.ErrRange)
	c.inexact = c.inexact || err == nil && !isExact(x) || err != nil && wrong == nil
}

// mayBeInteger reports whether a cell is an integer or begins with more digits than one of 64
// bits has. It saves the errors of strconv for all others.
func mayBeInteger(cell string) bool {
	for i := range len(cell) {
		if b := cell[i]; (b < '0' || b > '9') && (i > 0 || b != '-' && b != '+') {
			return i > 18
		}
	}
	return cell != ""
}

// isExact reports whether a float64 has the value of x.
func isExact(x int64) bool { return float64(x) < 1<<63 && int64(float64(x)) == x }

// allocate makes room for the values of that many rows.
func (c *column) allocate(rows int) {
	switch {
	case c.integer:
		c.integers = make([]int64, rows)
	case c.unsigned:
		c.unsigneds = make([]uint64, rows)
	case c.number:
		c.floats = make([]float64, rows)
	default:
		c.texts = make([]string, rows)
	}
}

// set parses a cell.
func (c *column) set(row int, cell string) (err error) {
	switch {
	case c.integer:
		c.integers[row], err = strconv.ParseInt(cell, 10, 64)
	case c.unsigned:
		c.unsigneds[row], err = strconv.ParseUint(cell, 10, 64)
	case c.number:
		c.floats[row], err = parseFloat(cell)
	default:
		c.texts[row] = strings.Clone(cell) // cells are parts of lines
	}
	if err != nil {
		err = errChanged
	}
	return err
}

// entry returns a column with a name.
func (c column) entry() serialize.Entry {
	e := serialize.Entry{Name: c.name}
	switch {
	case c.integer:
		e.Array = storage.From(c.integers, len(c.integers))
	case c.unsigned:
		e.Array = storage.From(c.unsigneds, len(c.unsigneds))
	case c.number:
		e.Array = storage.From(c.floats, len(c.floats))
	default:
		e.Elements = &serialize.Elements{View: views.Of(len(c.texts)), Type: "string", Values: c.values}
	}
	return e
}

// parseFloat returns the number nearest to a cell, infinity for one beyond all, and NaN for an
// empty one.
func parseFloat(cell string) (float64, error) {
	if cell == "" {
		return math.Float64frombits(0x7ff8 << 48), nil // as NumPy has it
	}
	x, err := strconv.ParseFloat(cell, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	return x, err
}

func (c column) values(v views.View) ([]any, error) {
	if !v.Within(len(c.texts)) {
		return nil, fmt.Errorf("%v reaches outside of %d cells: %w", v.Shape, len(c.texts), views.ErrShape)
	}
	list := make([]any, 0, v.Len())
	for at := range v.Positions() {
		list = append(list, c.texts[at])
	}
	return list, nil
}

// table returns columns of numbers as an array with a row for each line.
func table(in serialize.Input, columns []column, rows int) (storage.Array, error) {
	if !slices.ContainsFunc(columns, func(c column) bool { return !c.integer }) {
		return parsed(in, rows, len(columns), func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
	}
	return parsed(in, rows, len(columns), parseFloat)
}

func parsed[T dtype.Go](in serialize.Input, rows, columns int, parse func(string) (T, error)) (storage.Array, error) {
	list := make([]T, rows*columns)
	err := eachRow(in, false, rows, func(row int, line []string) error {
		for i, cell := range line {
			x, err := parse(cell)
			if err != nil {
				return errChanged
			}
			list[row*columns+i] = x
		}
		return nil
	})
	return storage.From(list, rows, columns), err
}
