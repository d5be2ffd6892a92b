package csv

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
)

// isNumber reports whether a cell is a decimal number, infinity or NaN. Go's hexadecimal numbers
// and underscores between digits are text.
func isNumber(cell string) bool {
	if strings.ContainsAny(cell, "_xX") {
		return false
	}
	_, err := strconv.ParseFloat(trimmed(cell), 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// trimmed returns a cell without spaces at its end. Those before it are no part of a cell.
func trimmed(cell string) string { return strings.TrimRight(cell, " ") }

// missingWords are what pandas.read_csv takes for missing values, beside NaN and empty cells.
var missingWords = []string{"#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "None", "n/a", "null"}

// IsMissing reports whether a cell stands for a missing number: it is empty, NaN, or one of the
// words that pandas takes for one, such as NA.
func IsMissing(cell string) bool {
	cell = trimmed(cell)
	return cell == "" || strings.EqualFold(cell, "nan") || slices.Contains(missingWords, cell)
}

// bools are the words that pandas.read_csv reads as bools.
var bools = map[string]bool{"True": true, "TRUE": true, "true": true, "False": false, "FALSE": false, "false": false}

func isBool(cell string) bool {
	_, ok := bools[trimmed(cell)]
	return ok
}

// DecimalPoint returns a number with a decimal comma, such as 1,5, with a decimal point, and
// other cells as they are.
func DecimalPoint(cell string) string {
	before, after, ok := strings.Cut(cell, ",")
	if !ok || after == "" || after[0] < '0' || after[0] > '9' || strings.ContainsAny(cell, ".nNiI") || strings.Contains(after, ",") {
		return cell
	}
	if point := before + "." + after; isNumber(point) {
		return point
	}
	return cell
}

// A cellKind is what the cells of a column are.
type cellKind struct {
	name     string
	integer  bool // all cells are integers
	unsigned bool // all are not negative
	number   bool // all are numbers, or missing
	boolean  bool // all are bools
	inexact  bool // some are integers that are no float64
	some     bool // some are numbers
	words    bool // some are words for missing values
	points   bool // some have decimal points
	commas   bool // some have decimal commas
}

func newCellKind(name string) cellKind {
	return cellKind{name: name, integer: true, unsigned: true, number: true, boolean: true}
}

// classify notes what a further cell is.
func (c *cellKind) classify(cell string) {
	if !c.integer && !c.unsigned && !c.number && !c.boolean {
		return
	}
	if cell = trimmed(cell); !mayBeInteger(cell) {
		c.classifyOther(cell)
		return
	}
	c.boolean, c.some = false, true
	x, err := strconv.ParseInt(cell, 10, 64)
	_, wrong := strconv.ParseUint(cell, 10, 64)
	c.integer, c.unsigned = c.integer && err == nil, c.unsigned && wrong == nil
	// An integer beyond 64 bits is text: converted to a float it would change.
	c.number = c.number && isNumber(cell) && !errors.Is(err, strconv.ErrRange)
	c.inexact = c.inexact || err == nil && !isExact(x) || err != nil && wrong == nil
}

// classifyOther is classify for a cell that is no integer.
func (c *cellKind) classifyOther(cell string) {
	c.integer, c.unsigned = false, false
	switch {
	case cell == "":
		c.boolean = false
	case isBool(cell):
		c.number = false
	case !c.number:
		c.boolean = false
	case isNumber(cell):
		c.boolean, c.some = false, true
		c.points = c.points || strings.Contains(cell, ".")
	case IsMissing(cell):
		c.boolean, c.words = false, true
	case isNumber(DecimalPoint(cell)):
		c.boolean, c.some, c.commas = false, true, true
	default:
		c.boolean, c.number = false, false
	}
}

// decide decides what the columns of a table are whose cells are classified. Integers beyond 53
// bits are text among floats and missing cells, and so are words for missing values without a
// number. Commas are decimal where something else separates cells, unless a column of numbers has
// points: the other's points may separate thousands.
func decide(columns []cellKind, comma rune) {
	points := slices.ContainsFunc(columns, func(c cellKind) bool { return c.number && c.points && !c.commas })
	for i := range columns {
		c := &columns[i]
		exact := c.integer || c.unsigned || !c.inexact
		c.number = c.number && exact && (c.some || !c.words) && !(c.commas && (c.points || points || comma == ','))
	}
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
	case c.integer: // or without cells
		return column.Kind{Type: dtype.Int64}
	case c.unsigned:
		return column.Kind{Type: dtype.Uint64}
	case c.boolean:
		return column.Kind{Type: dtype.Bool}
	case c.number:
		return column.Kind{Type: dtype.Float64}
	}
	return column.Kind{}
}

// matrixOf returns the type of an array of all columns; false if they have none in common.
func matrixOf(columns []cellKind) (column.Kind, bool) {
	all := newCellKind("")
	for _, c := range columns {
		all.integer, all.unsigned = all.integer && c.integer, all.unsigned && c.unsigned
		all.number, all.boolean = all.number && c.number, all.boolean && c.boolean
		all.inexact = all.inexact || c.inexact
	}
	all.number = all.number && !all.inexact
	return all.kind(), all.kind().Type.Valid()
}

// parseFloat returns the number nearest to a cell, infinity for one beyond all, and NaN for a
// missing one. A comma is a decimal point.
func parseFloat(cell string) (float64, error) {
	if IsMissing(cell) {
		return math.Float64frombits(0x7ff8 << 48), nil // as NumPy has it
	}
	x, err := strconv.ParseFloat(trimmed(DecimalPoint(cell)), 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	return x, err
}
