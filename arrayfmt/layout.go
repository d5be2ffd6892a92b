package arrayfmt

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
)

// LineWidth is NumPy's default line width.
const LineWidth = 75

// NumPy's other default print options.
const (
	showAll   = 1000 // elements; of a larger array only the corners are shown
	showEdge  = 3    // elements at either end of an axis
	precision = 8    // digits after the point
)

// aligned returns elements of type t as NumPy prints them together: numbers
// share a width and a point. Follows NumPy's arrayprint.py, floatmode maxprec.
func aligned(t dtype.Type, elems []byte) []string {
	switch {
	case t == dtype.Bool:
		return padLeft(titled(Texts(t, elems, Number)), len("False"))
	case t.IsInt():
		return padLeft(Texts(t, elems, Number), 0)
	case !t.IsComplex():
		return alignedFloats(t, blocks.Float64s(partOf(t), elems), false)
	}
	parts := blocks.Float64s(partOf(t), elems)
	re, im := make([]float64, 0, len(parts)/2), make([]float64, 0, len(parts)/2)
	for k := 0; k < len(parts); k += 2 {
		re, im = append(re, parts[k]), append(im, parts[k+1])
	}
	cells := alignedFloats(partOf(t), re, false)
	for k, imaginary := range alignedFloats(partOf(t), im, true) {
		digits := strings.TrimRight(imaginary, " ")
		cells[k] += digits + "j" + imaginary[len(digits):]
	}
	return cells
}

// titled makes true True, as Python spells it.
func titled(cells []string) []string {
	for k, cell := range cells {
		cells[k] = strings.ToUpper(cell[:1]) + cell[1:]
	}
	return cells
}

// padLeft makes cells equally wide, and at least width.
func padLeft(cells []string, width int) []string {
	for _, cell := range cells {
		width = max(width, len(cell))
	}
	for k, cell := range cells {
		cells[k] = strings.Repeat(" ", width-len(cell)) + cell
	}
	return cells
}

// alignedFloats returns numbers with their points below each other; signed
// puts a + before what is not negative.
func alignedFloats(t dtype.Type, xs []float64, signed bool) []string {
	write := positional
	if wantsExponent(t, xs) {
		write = scientific(t, xs)
	}
	whole, fraction := make([]string, len(xs)), make([]string, len(xs))
	left, right := 0, 0
	for k, x := range xs {
		if finite(x) {
			whole[k], fraction[k], _ = strings.Cut(write(t, x), ".")
			if signed && !math.Signbit(x) {
				whole[k] = "+" + whole[k]
			}
			left, right = max(left, len(whole[k])), max(right, len(fraction[k]))
		}
	}
	words := make([]string, len(xs)) // nan and inf
	for k, x := range xs {
		if !finite(x) {
			words[k] = Number(t, x)
			if signed && words[k][0] != '-' {
				words[k] = "+" + words[k]
			}
			left = max(left, len(words[k])-right-1)
		}
	}
	cells := make([]string, len(xs))
	for k, x := range xs {
		if finite(x) {
			cells[k] = pad(left-len(whole[k])) + whole[k] + "." + fraction[k] + pad(right-len(fraction[k]))
		} else {
			cells[k] = pad(left+1+right-len(words[k])) + words[k]
		}
	}
	return cells
}

func pad(n int) string { return strings.Repeat(" ", max(0, n)) }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// wantsExponent reports whether numbers differ too much to be written out.
func wantsExponent(t dtype.Type, xs []float64) bool {
	least, most := math.Inf(1), 0.0
	for _, x := range xs {
		if a := math.Abs(x); finite(x) && a != 0 {
			least, most = min(least, a), max(most, a)
		}
	}
	limit := 1e8
	switch t { // about as many digits as the type holds
	case dtype.Float32:
		limit = 1e6
	case dtype.Float16:
		limit = 1e3
	}
	return most > 0 && (most >= limit || least < 1e-4 || most/least > 1000)
}

// positional writes x with up to precision digits after its point.
func positional(t dtype.Type, x float64) string {
	s := shortest(t, x, 'f')
	whole, fraction, _ := strings.Cut(s, ".")
	if len(fraction) > precision {
		whole, fraction, _ = strings.Cut(strconv.FormatFloat(x, 'f', precision, 64), ".")
		fraction = strings.TrimRight(fraction, "0")
	}
	return whole + "." + fraction
}

// scientific returns a function that writes numbers with an exponent, all with
// as many digits as the longest of xs needs, and exponents of one width.
func scientific(t dtype.Type, xs []float64) func(dtype.Type, float64) string {
	digits, width := 0, 2
	for _, x := range xs {
		if finite(x) {
			mantissa, exponent, _ := strings.Cut(shortest(t, x, 'e'), "e")
			_, fraction, _ := strings.Cut(mantissa, ".")
			digits = max(digits, min(precision, len(fraction)))
			width = max(width, len(exponent)-1)
		}
	}
	return func(_ dtype.Type, x float64) string {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', digits, 64), "e")
		whole, fraction, _ := strings.Cut(mantissa, ".")
		return whole + "." + fraction + "e" + exponent[:1] + strings.Repeat("0", max(0, width-len(exponent)+1)) + exponent[1:]
	}
}

// A page lays out the cells of an array as NumPy's array2string does.
type page struct {
	shape []int    // of the whole array
	shown []int    // of the cells: less where an axis is cut short
	cells []string // row-major
	width int
}

func (p page) String() string {
	switch {
	case len(p.shape) == 0:
		return strings.TrimSpace(p.cells[0])
	case slices.Contains(p.shape, 0):
		return "[]"
	}
	text, _ := p.axis(0, p.cells, " ", p.width)
	return text
}

// axis lays out the cells of one axis and those after it, and returns the
// cells that are left. indent leads every line, width is where lines end.
func (p page) axis(axis int, cells []string, indent string, width int) (string, []string) {
	if axis == len(p.shown) {
		return cells[0], cells[1:]
	}
	var items []string
	for k := range p.shown[axis] {
		var item string
		if k == p.shown[axis]/2 && p.shown[axis] < p.shape[axis] {
			items = append(items, "...")
		}
		item, cells = p.axis(axis+1, cells, indent+" ", width-1)
		items = append(items, item)
	}
	last := axis == len(p.shown)-1
	if !last {
		gap := strings.Repeat("\n", len(p.shown)-axis-1) + indent
		return "[" + strings.Join(items, gap) + "]", cells
	}
	return "[" + wrap(items, indent, width-1)[len(indent):] + "]", cells
}

// wrap joins words to lines of at most width runes, each led by indent.
func wrap(words []string, indent string, width int) string {
	var text strings.Builder
	line := indent
	for k, word := range words {
		if len([]rune(line))+len([]rune(word)) > width && len(line) > len(indent) {
			text.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		line += word
		if k < len(words)-1 {
			line += " "
		}
	}
	return text.String() + line
}
