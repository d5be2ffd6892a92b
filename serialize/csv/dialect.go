package csv

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// A Reader reads the records of a table of UTF-8 text and finds out what separates cells: commas,
// semicolons, tabs, bars, or spaces between numbers. Lines before the table that begin with # are
// comments.
type Reader struct {
	// Names are the cells of the first line if it is a header, or nil.
	Names []string
	// Comma separates cells.
	Comma rune

	csv    *csv.Reader
	before int      // lines before the first that csv reads
	ahead  []record // that are read, and not yet returned by Read
	cells  int      // of each record; 0 before the first
	first  int      // line of the first record
	end    int      // last line of the record before; 0 if that is the header
}

// A record is the cells of a line, or the error instead of it.
type record struct {
	cells     []string
	line, end int  // end differs from line if a cell has line breaks
	quoted    bool // every cell is in quotes; known of the first records only
	err       error
}

// peeked is the number of bytes from which a Reader finds out how a table is written.
const peeked = 64 << 10

// NewReader returns a Reader of the text that r has.
func NewReader(r io.Reader) *Reader {
	text := bufio.NewReaderSize(r, peeked)
	head, _ := text.Peek(peeked) // an error is returned by the first Read too
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		text.Discard(len(byteOrderMark))
		head = head[len(byteOrderMark):]
	}
	if err := checkText(head); err != nil {
		return &Reader{ahead: []record{{err: err}}}
	}
	n := comments(head)
	text.Discard(n)
	t := &Reader{Comma: separator(head[n:]), before: bytes.Count(head[:n], []byte{'\n'})}
	t.csv = newCSV(text, t.Comma)
	t.readHeader(head[n:])
	return t
}

// checkText returns an error if a file does not begin as a table in UTF-8.
func checkText(head []byte) error {
	switch zero, line := bytes.IndexByte(head, 0), bytes.IndexByte(head, '\n'); {
	case bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")):
		return fmt.Errorf("UTF-16 text; iconv -f UTF-16 -t UTF-8 IN > OUT converts it: %w", dtype.ErrType)
	case zero >= 0:
		return fmt.Errorf("byte %d is zero, so this is not text: %w", zero, dtype.ErrType)
	case line < 0 && bytes.IndexByte(head, '\r') >= 0:
		return fmt.Errorf("lines end in CR alone; tr '\\r' '\\n' < IN > OUT converts them: %w", dtype.ErrType)
	case bytes.HasPrefix(head, []byte("sep=")):
		return fmt.Errorf("the first line, %q, is for Excel; remove it: %w", bytes.TrimSpace(head[:max(0, line)]), dtype.ErrType)
	}
	return nil
}

func newCSV(r io.Reader, comma rune) *csv.Reader {
	c := csv.NewReader(r)
	c.Comma, c.TrimLeadingSpace, c.ReuseRecord, c.FieldsPerRecord = comma, comma != '\t', true, -1
	return c
}

// readHeader reads the first two records, and takes the first for the names of columns if it is a
// header.
func (t *Reader) readHeader(head []byte) {
	lines := bytes.SplitN(head, []byte{'\n'}, 64)
	for range 2 {
		x := t.next()
		x.cells = slices.Clone(x.cells)
		x.quoted = x.err == nil && isQuoted(t.csv, lines, len(x.cells))
		t.ahead = append(t.ahead, x)
	}
	first, second := t.ahead[0], t.ahead[1]
	if first.err != nil {
		return
	}
	t.cells, t.first, t.end = len(first.cells), first.line, first.end
	if isHeader(first, second) {
		t.Names, t.ahead, t.end = first.cells, t.ahead[1:], 0
	}
}

// next reads a record.
func (t *Reader) next() (x record) {
	x.cells, x.err = t.csv.Read()
	if x.err != nil {
		x.err = t.describe(x.err)
		return x
	}
	line, _ := t.csv.FieldPos(0)
	x.line = t.before + line
	x.end = x.line
	for _, cell := range x.cells {
		x.end += strings.Count(cell, "\n")
		if x.err == nil && !utf8.ValidString(cell) {
			x.err = fmt.Errorf("line %d: %.40q is not UTF-8; iconv -f WINDOWS-1252 -t UTF-8 IN > OUT converts text of older programs: %w", x.line, cell, dtype.ErrType)
		}
	}
	return x
}

// describe returns an error of package encoding/csv with what to do.
func (t *Reader) describe(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	switch at := fmt.Sprintf("line %d, byte %d", t.before+parse.Line, parse.Column); parse.Err {
	case csv.ErrBareQuote:
		return fmt.Errorf("%s: a bare quote in a cell that does not begin with one; quote the cell, and write quotes in it twice: %w", at, storage.ErrState)
	case csv.ErrQuote:
		return fmt.Errorf("%s: the quote of a cell that begins on line %d has no end, or more follows it before the next %q: %w", at, t.before+parse.StartLine, t.Comma, storage.ErrState)
	default:
		return fmt.Errorf("%s: %w", at, parse.Err)
	}
}

// Read returns the cells of the next record, which are valid until the next call, and the line
// on which it begins. Records have as many cells as the first.
func (t *Reader) Read() (cells []string, line int, err error) {
	var x record
	if len(t.ahead) > 0 {
		x, t.ahead = t.ahead[0], t.ahead[1:]
	} else {
		x = t.next()
	}
	if x.err != nil {
		return nil, x.line, x.err
	}
	if len(x.cells) != t.cells {
		return nil, x.line, fmt.Errorf("line %d has %s, and line %d has %d; cells with a %q in them must be in quotes, and missing ones empty: %w",
			x.line, counted(len(x.cells), "cell"), t.first, t.cells, t.Comma, storage.ErrState)
	}
	if t.cells == 1 && t.end > 0 && x.line > t.end+1 {
		return nil, x.line, fmt.Errorf("line %d is blank, which may be a missing value; write \"\" for one, or remove the line: %w", t.end+1, storage.ErrState)
	}
	t.end = x.end
	return x.cells, x.line, nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// isHeader reports whether the first record of a table is the names of its columns: if a
// cell is neither a number nor missing; if all are in quotes, and those below are not; if they are
// 0, 1, 2 and so on as pandas numbers columns, after an empty cell or above numbers that are no
// integers; or if the cell of the row names is empty.
func isHeader(first, second record) bool {
	for i, cell := range first.cells {
		isData := isNumber(DecimalPoint(cell)) || IsMissing(cell) || isBool(cell) && i < len(second.cells) && isBool(second.cells[i])
		if !isData {
			return true
		}
	}
	if second.err != nil {
		return false
	}
	isText := func(cell string) bool { return !isNumber(cell) && !IsMissing(cell) }
	isFloat := func(cell string) bool { return !mayBeInteger(cell) && (isNumber(cell) || IsMissing(cell)) }
	switch {
	case first.quoted && !second.quoted:
		return true
	case len(first.cells) > 1 && first.cells[0] == "":
		return isText(second.cells[0]) || isCount(first.cells[1:])
	default:
		return len(first.cells) > 2 && isCount(first.cells) && !slices.ContainsFunc(second.cells, func(cell string) bool { return !isFloat(cell) })
	}
}

// isCount reports whether cells are 0, 1, 2 and so on.
func isCount(cells []string) bool {
	for i, cell := range cells {
		if cell != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

// isQuoted reports whether each cell of the record that c has read is in quotes. Lines are those
// at the beginning of the text.
func isQuoted(c *csv.Reader, lines [][]byte, cells int) bool {
	for i := range cells {
		line, column := c.FieldPos(i)
		if line > len(lines) || column > len(lines[line-1]) || lines[line-1][column-1] != '"' {
			return false
		}
	}
	return true
}

// separators are what may separate cells, those first that are rare within them.
var separators = []rune{'\t', ';', '|', ','}

// separator returns what separates the cells of a table: what each of its first lines has equally
// often, else what is most frequent in the first, and spaces if they separate numbers.
func separator(head []byte) rune {
	best, most := ',', 1
	for _, comma := range separators {
		counts := firstLines(head, comma, func(cells []string) int { return len(cells) })
		if len(counts) == 0 {
			continue
		}
		if counts[0] > 1 && len(counts) > 1 && slices.Min(counts) == slices.Max(counts) {
			return comma
		}
		if counts[0] > most {
			best, most = comma, counts[0]
		}
	}
	if most > 1 {
		return best
	}
	spaces := firstLines(head, ' ', func(cells []string) int {
		if slices.ContainsFunc(cells, func(cell string) bool { return !isNumber(cell) }) {
			return -len(cells)
		}
		return len(cells)
	})
	if len(spaces) > 1 && max(spaces[0], -spaces[0]) > 1 && slices.Min(spaces[1:]) == slices.Max(spaces[1:]) && spaces[1] == max(spaces[0], -spaces[0]) {
		return ' '
	}
	return ','
}

// firstLines returns what count returns for each of the first records of a table.
func firstLines(head []byte, comma rune, count func(cells []string) int) (counts []int) {
	const enough = 16
	c := newCSV(bytes.NewReader(head), comma)
	c.LazyQuotes = true
	for len(counts) < enough {
		cells, err := c.Read()
		if err != nil {
			return counts
		}
		if len(head) >= peeked-len(byteOrderMark) && c.InputOffset() == int64(len(head)) {
			if len(counts) == 0 {
				return []int{count(cells)}
			}
			return counts // the last line is cut off
		}
		counts = append(counts, count(cells))
	}
	return counts
}

// comments returns the number of bytes of the comments before a table: lines that begin with #.
// The last one is a header if it has as many cells as the numbers in the line after it, as
// numpy.savetxt writes it; then only its "# " is a comment.
func comments(head []byte) (n int) {
	for bytes.HasPrefix(head[n:], []byte("#")) {
		comment, rest, ok := bytes.Cut(head[n:], []byte{'\n'})
		if !ok {
			return n
		}
		next, _, _ := bytes.Cut(rest, []byte{'\n'})
		if !bytes.HasPrefix(next, []byte("#")) {
			for _, comma := range []string{"\t", ";", "|", ","} {
				cells := bytes.Split(bytes.TrimRight(next, "\r"), []byte(comma))
				if (len(cells) > 1 || comma == ",") && isNumber(DecimalPoint(string(bytes.TrimSpace(cells[0])))) && bytes.Count(comment, []byte(comma)) == len(cells)-1 {
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

// byteOrderMark begins UTF-8 text of some programs.
const byteOrderMark = "\ufeff"
