package csv

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/csv"
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

// isNumber reports whether a cell is a decimal number, infinity or NaN. Go's hexadecimal numbers
// and underscores between digits are text.
func isNumber(cell string) bool {
	if strings.ContainsAny(cell, "_xX") {
		return false
	}
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

// A cellKind is what the cells of a column are.
type cellKind struct {
	name     string
	integer  bool // all cells are integers
	unsigned bool // all are not negative
	number   bool // all are numbers, or empty
	inexact  bool // some are integers that are no float64
}

// open reads a table twice: first what the columns are, then their values, to a
// [column.Scratch]. With a header, each column is an array of integers, of floats, in which empty
// cells are NaN, or of strings. Without one, the table is an array of two axes.
func open(in serialize.Input) (serialize.File, error) {
	if err := checkText(in); err != nil {
		return nil, err
	}
	kinds, rows, header, err := classify(in)
	if err != nil {
		return nil, err
	}
	t := &table{in: in, kinds: kinds, rows: rows, header: header}
	if !header && !slices.ContainsFunc(kinds, func(k cellKind) bool { return !k.number }) {
		t.matrix = true
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
	header  bool
	matrix  bool // one array of two axes
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
	if t.matrix {
		kind := column.Kind{Type: dtype.Float64}
		if !slices.ContainsFunc(t.kinds, func(k cellKind) bool { return !k.integer }) {
			kind.Type = dtype.Int64
		}
		columns = slices.Repeat([]*values{{Kind: kind, spool: t.scratch.Spool(kind)}}, len(t.kinds))
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
	if t.matrix {
		e, err := t.entry(t.in.ArrayName(), columns[0], t.rows, len(t.kinds))
		if err != nil {
			return nil, err
		}
		return list, list.Add(e, nil)
	}
	for i, k := range t.kinds {
		if k.name == "" || list.Has(k.name) {
			k.name = fmt.Sprintf("column %d", i+1)
		}
		e, err := t.entry(k.name, columns[i], t.rows)
		if err == nil {
			err = list.Add(e, nil)
		}
		if err != nil {
			return nil, err
		}
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
	if err := eachRow(t.in, t.header, t.rows, func(_ int, line []string) error {
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
	const columnCost = 512 // bytes of memory, about
	err = eachLine(in, func(count int, line []string) error {
		if count == 0 {
			if err := in.Budget.Allocate(columnCost*len(line), int(in.Size)); err != nil {
				return err
			}
			header = slices.ContainsFunc(line, func(cell string) bool { return !isNumber(cell) && cell != "" })
			columns = make([]cellKind, len(line))
			for i := range columns {
				columns[i] = cellKind{integer: true, unsigned: true, number: true}
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

// eachLine calls use with the number and the cells of each line. These are valid until the
// next call.
func eachLine(in serialize.Input, use func(count int, line []string) error) error {
	r := newReader(io.NewSectionReader(in, 0, in.Size))
	r.ReuseRecord = true
	for count := 0; ; count++ {
		if count%4096 == 0 && in.Err() != nil {
			return in.Err()
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
func (c *cellKind) classify(cell string) {
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

// kind returns what the values of a column are.
func (c cellKind) kind() column.Kind {
	switch {
	case c.integer:
		return column.Kind{Type: dtype.Int64}
	case c.unsigned:
		return column.Kind{Type: dtype.Uint64}
	case c.number:
		return column.Kind{Type: dtype.Float64}
	}
	return column.Kind{}
}

// Values are parsed cells. The last of them are in memory.
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
	case dtype.Int64:
		var x int64
		x, err = strconv.ParseInt(cell, 10, 64)
		bits = uint64(x)
	case dtype.Uint64:
		bits, err = strconv.ParseUint(cell, 10, 64)
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
