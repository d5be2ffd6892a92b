package views

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// An Index is a NumPy index expression: slices, integers, lists of them, ... and None, and
// what files add to it: masks by path, and coordinates by the names of dimensions.
type Index []item

type itemKind uint8

const (
	rangeItem itemKind = iota // start:stop:step
	intItem                   // an integer, which drops the axis
	ellipsis                  // ...: all axes that no other item indexes
	newAxis                   // None: an axis of size 1
	listItem                  // [3, 1, -7]: elements of an axis in any order
	maskItem                  // @PATH: a mask or a list of indices in a file
	coordItem                 // NAME=VALUE, NAME=START:STOP:STEP: coordinates of a dimension
)

type item struct {
	kind              itemKind
	start, stop, step int // start is also the integer
	hasStart, hasStop bool
	list              []int
	path              string // of the mask
	coordinates       CoordinateRange
}

// CutIndex splits an index expression off the end of a path: "/x[0, :]" is "/x" and
// "[0, :]". Names in a path may have brackets too, so that a caller who knows the names
// looks up the whole path first.
func CutIndex(path string) (name, expr string) {
	if !strings.HasSuffix(path, "]") {
		return path, ""
	}
	depth, quote := 0, byte(0)
	for k := len(path) - 1; k >= 0; k-- {
		switch c := path[k]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ']':
			depth++
		case c == '[':
			if depth--; depth == 0 {
				return path[:k], path[k:]
			}
		}
	}
	return path, ""
}

// Parse reads an index expression in NumPy's grammar, such as
//
//	[0:100, ::2, -1, ..., None]
//	[[3, 1, -7], :]                          lists of indices
//	[@mask/valid, 0], [@label==3]            masks, lists and comparisons in a file
//	[time=2001:2005, lat=52.5, station='A']  coordinates by the names of dimensions
//
// The brackets are optional where there is no list. An empty expression selects everything.
// Bounds beyond the range of int are clipped to it.
func Parse(expr string) (Index, error) {
	p := parser{text: expr}
	index, err := p.index()
	if err != nil {
		return nil, fmt.Errorf("index %q, position %d: %w: %w", expr, p.at, err, ErrShape)
	}
	return index, nil
}

// A parser reads an expression from left to right; at is its position.
type parser struct {
	text string
	at   int
}

func (p *parser) index() (Index, error) {
	bracket := p.take("[")
	var index Index
	ellipses := 0
	for !p.end(bracket) {
		start := p.at
		i, err := p.item()
		if err != nil {
			return nil, err
		}
		if i.kind == ellipsis {
			if ellipses++; ellipses > 1 {
				p.at = start
				return nil, fmt.Errorf("a second ...; want at most one")
			}
		}
		index = append(index, i)
		if !p.take(",") && !p.end(bracket) {
			want := "the end"
			if bracket {
				want = "']'"
			}
			return nil, fmt.Errorf("%s where a comma or %s should be", p.found(), want)
		}
	}
	if bracket {
		p.take("]")
	}
	if p.skip(); p.at < len(p.text) {
		return nil, fmt.Errorf("%s after the index", p.found())
	}
	return index, index.checkNames()
}

func (p *parser) item() (item, error) {
	switch {
	case p.take("..."), p.takeWord("Ellipsis"):
		return item{kind: ellipsis}, nil
	case p.takeWord("None"), p.takeWord("newaxis"):
		return item{kind: newAxis}, nil
	case p.take("["):
		return p.list()
	case p.take("@"):
		return p.mask()
	}
	if name, found := p.name(); found {
		return p.coordinates(name)
	}
	i := item{step: 1}
	var err error
	if i.start, i.hasStart, err = p.number(); err != nil {
		return i, err
	}
	if !p.take(":") {
		if !i.hasStart {
			return i, fmt.Errorf("%s where a number, a range, ... or None should be", p.found())
		}
		i.kind = intItem
		return i, nil
	}
	if i.stop, i.hasStop, err = p.number(); err != nil || !p.take(":") {
		return i, err
	}
	step, given, err := p.number()
	if given {
		i.step = max(step, -math.MaxInt) // -MinInt overflows
	}
	if err == nil && i.step == 0 {
		return i, fmt.Errorf("step 0")
	}
	return i, err
}

// number reads an integer, if one is there.
func (p *parser) number() (n int, found bool, err error) {
	p.skip()
	end := p.at
	if end < len(p.text) && (p.text[end] == '-' || p.text[end] == '+') {
		end++
	}
	digits := end
	for end < len(p.text) && '0' <= p.text[end] && p.text[end] <= '9' {
		end++
	}
	if end == digits {
		if end > p.at {
			p.at = end
			return 0, false, fmt.Errorf("%s where digits should be", p.found())
		}
		return 0, false, nil
	}
	n, _ = strconv.Atoi(p.text[p.at:end]) // out of range gives the nearest
	p.at = end
	return n, true, nil
}

// take skips word if it comes next, and reports whether it did.
func (p *parser) take(word string) bool {
	p.skip()
	if !strings.HasPrefix(p.text[p.at:], word) {
		return false
	}
	p.at += len(word)
	return true
}

func (p *parser) end(bracket bool) bool {
	p.skip()
	if bracket {
		return p.at < len(p.text) && p.text[p.at] == ']'
	}
	return p.at == len(p.text)
}

func (p *parser) skip() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// found describes the character at the current position.
func (p *parser) found() string {
	for _, r := range p.text[p.at:] {
		return strconv.QuoteRune(r)
	}
	return "the end"
}

// String returns x as Parse reads it, in brackets.
func (x Index) String() string {
	parts := make([]string, len(x))
	for k, i := range x {
		parts[k] = i.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (i item) String() string {
	switch i.kind {
	case intItem:
		return strconv.Itoa(i.start)
	case ellipsis:
		return "..."
	case newAxis:
		return "None"
	case listItem:
		return "[" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(i.list)), ", "), "[]") + "]"
	case maskItem:
		return "@" + i.path
	case coordItem:
		return i.coordinates.String()
	}
	s := ":"
	if i.hasStart {
		s = strconv.Itoa(i.start) + s
	}
	if i.hasStop {
		s += strconv.Itoa(i.stop)
	}
	if i.step != 1 {
		s += ":" + strconv.Itoa(i.step)
	}
	return s
}

// axes returns how many axes of the indexed view x indexes, apart from ....
func (x Index) axes() int {
	n := 0
	for _, i := range x {
		if i.kind == rangeItem || i.kind == intItem || i.kind == listItem || i.kind == maskItem {
			n++
		}
	}
	return n
}

// has reports whether x has an item of one of several kinds.
func (x Index) has(kinds ...itemKind) bool {
	return slices.ContainsFunc(x, func(i item) bool { return slices.Contains(kinds, i.kind) })
}

// Index returns the view of the elements that an index expression selects, which [Parse] reads.
func (v View) Index(expr string) (View, error) {
	x, err := Parse(expr)
	if err != nil {
		return View{}, err
	}
	return x.Of(v)
}

// Of returns the view of the elements of v that x selects. Nothing is copied. Lists, masks and
// coordinates select no view; see [Index.Select].
func (x Index) Of(v View) (View, error) {
	if x.has(listItem, maskItem, coordItem) {
		return View{}, fmt.Errorf("index %v: a view cannot have lists, masks and coordinates, only ranges and integers: %w", x, ErrShape)
	}
	left := v.Rank() - x.axes()
	if left < 0 {
		return View{}, fmt.Errorf("index %v has %d axes, shape %v has %d: %w", x, x.axes(), v.Shape, v.Rank(), ErrShape)
	}
	w, axis, done := v.clone(), 0, 0 // the axis of w that comes next, and of v
	for _, i := range x {
		switch i.kind {
		case rangeItem:
			w.slice(axis, i)
			axis, done = axis+1, done+1
		case ellipsis:
			axis, done = axis+left, done+left
		case newAxis:
			w = w.with(axis, 1, w.skip(axis))
			axis++
		case intItem:
			at, err := element(i.start, done, w.Shape[axis])
			if err != nil {
				return View{}, fmt.Errorf("index %v: %w", x, err)
			}
			offset := w.Offset + at*w.Stride[axis]
			w = w.without(axis)
			w.Offset = offset
			done++
		}
	}
	return w, nil
}

// Origins returns, for each axis of the view that x selects from one of the given rank, the axis
// that it selects from, or -1 for a new one. See [Index.Of] for what selects a view.
func (x Index) Origins(rank int) []int {
	origins, done := []int{}, 0
	keep := func(n int) {
		for range n {
			origins = append(origins, done)
			done++
		}
	}
	for _, i := range x {
		switch i.kind {
		case rangeItem:
			keep(1)
		case ellipsis:
			keep(rank - x.axes())
		case newAxis:
			origins = append(origins, -1)
		default:
			done++
		}
	}
	keep(rank - done)
	return origins
}

// of returns the first element of a range over an axis of the given size, and
// how many it has: Python's slice.indices.
func (i item) of(size int) (start, n int) {
	least, most := 0, size // of a bound
	if i.step < 0 {
		least, most = -1, size-1
	}
	bound := func(x int, given bool, otherwise int) int {
		if !given {
			return otherwise
		}
		if x < 0 {
			x += size
		}
		return max(least, min(x, most))
	}
	if i.step < 0 {
		start = bound(i.start, i.hasStart, most)
		stop := bound(i.stop, i.hasStop, least)
		if start <= stop {
			return start, 0
		}
		return start, (start-stop-1)/-i.step + 1
	}
	start = bound(i.start, i.hasStart, least)
	stop := bound(i.stop, i.hasStop, most)
	if start >= stop {
		return start, 0
	}
	return start, (stop-start-1)/i.step + 1
}
