package views

import (
	"fmt"
	"strings"
)

// Names finds what index expressions name: it is implemented for files.
type Names interface {
	// Mask returns, for each of the first axes of a shape that a mask spans, the indices of the
	// elements for which it is true; or those of the first axis that a list has.
	Mask(path string, shape []int) (indices [][]int, err error)
	// Coordinates returns the axis that has a name, and the indices along it whose coordinates
	// are in a range; one, and single set, for the nearest to a single coordinate.
	Coordinates(r CoordinateRange) (axis int, indices []int, single bool, err error)
}

// A CoordinateRange is coordinates of the dimension Name: from Start to Stop, both inclusive and
// "" for no bound, and of these every Step-th; or Start alone, if Single is set.
type CoordinateRange struct {
	Name, Start, Stop string
	Step              int
	Single            bool
}

// String returns r as in an index expression.
func (r CoordinateRange) String() string {
	s := quoted(r.Name, isNameByte) + "=" + quoted(r.Start, isValueByte)
	if r.Single {
		return s
	}
	if s += ":" + quoted(r.Stop, isValueByte); r.Step != 1 {
		s += fmt.Sprintf(":%d", r.Step)
	}
	return s
}

// checkNames refuses indices by position beside indices by name, whose axes may be any.
func (x Index) checkNames() error {
	seen := map[string]bool{}
	for _, i := range x {
		name := i.coordinates.Name
		switch {
		case i.kind != coordItem && len(seen) > 0, i.kind == coordItem && !x.onlyNames():
			return fmt.Errorf("names of dimensions beside positions; want either for all axes")
		case i.kind == coordItem && seen[name]:
			return fmt.Errorf("dimension %s twice", name)
		case i.kind == coordItem:
			seen[name] = true
		}
	}
	return nil
}

func (x Index) onlyNames() bool {
	return !x.has(rangeItem, intItem, ellipsis, newAxis, listItem, maskItem)
}

// list reads the integers of a list, whose bracket is read.
func (p *parser) list() (item, error) {
	i := item{kind: listItem, list: []int{}}
	for !p.take("]") {
		start := p.at
		n, found, err := p.number()
		switch {
		case err != nil:
			return i, err
		case !found && p.take("["):
			p.at = start
			return i, fmt.Errorf("a list in a list; want lists of one axis")
		case !found:
			return i, fmt.Errorf("%s where a number of the list or ']' should be", p.found())
		}
		if i.list = append(i.list, n); p.take("]") {
			break
		}
		if !p.take(",") {
			return i, fmt.Errorf("%s where a comma or ']' of the list should be", p.found())
		}
	}
	return i, nil
}

// mask reads the path of a mask, which may be compared with a value, up to a comma or bracket
// outside of quotes.
func (p *parser) mask() (item, error) {
	start, quote := p.at, byte(0)
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		if quote == 0 && (c == ',' || c == ']') {
			break
		}
		switch {
		case quote == c:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		}
	}
	i := item{kind: maskItem, path: strings.TrimSpace(p.text[start:p.at])}
	if quote != 0 {
		return i, fmt.Errorf("the end where %q should be", quote)
	}
	if i.path == "" {
		return i, fmt.Errorf("%s where the path of a mask should be", p.found())
	}
	return i, nil
}

// name reads the name of a dimension and =, if they come next.
func (p *parser) name() (name string, found bool) {
	start := p.at
	name, err := p.token(isNameByte)
	if err != nil || name == "" || !p.take("=") {
		p.at = start
		return "", false
	}
	return name, true
}

// coordinates reads a coordinate of the named dimension, or a range of them.
func (p *parser) coordinates(name string) (item, error) {
	r := CoordinateRange{Name: name, Step: 1}
	i := func() item { return item{kind: coordItem, coordinates: r} }
	var err error
	if r.Start, err = p.token(isValueByte); err != nil {
		return i(), err
	}
	if r.Single = !p.take(":"); r.Single {
		if r.Start == "" {
			err = fmt.Errorf("%s where a coordinate of %s or a range should be", p.found(), name)
		}
		return i(), err
	}
	if r.Stop, err = p.token(isValueByte); err != nil || !p.take(":") {
		return i(), err
	}
	step, given, err := p.number()
	if given {
		if r.Step = step; step <= 0 {
			err = fmt.Errorf("step %d of coordinates; want 1 or more", step)
		}
	}
	return i(), err
}

// isNameByte reports whether c may be in a name without quotes: a letter, a digit or one of _-.
func isNameByte(c byte) bool {
	return c >= 0x80 || strings.IndexByte("_-.", c) >= 0 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// isValueByte reports whether c may be in a coordinate without quotes.
func isValueByte(c byte) bool { return strings.IndexByte(",:[]=@'\" \t\r\n", c) < 0 }

// token reads bytes of a kind, or a string in quotes; "" if there are none.
func (p *parser) token(is func(byte) bool) (string, error) {
	p.skip()
	for _, quote := range []string{"'", `"`} {
		if p.take(quote) {
			text, rest, closed := strings.Cut(p.text[p.at:], quote)
			if p.at = len(p.text) - len(rest); !closed {
				return "", fmt.Errorf("the end where %s should be", quote)
			}
			if text == "" {
				return "", fmt.Errorf("an empty string where a coordinate should be")
			}
			return text, nil
		}
	}
	start := p.at
	for p.at < len(p.text) && is(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at], nil
}

// quoted returns text as token reads it.
func quoted(text string, is func(byte) bool) string {
	for k := range len(text) {
		if !is(text[k]) {
			if strings.Contains(text, "'") {
				return `"` + text + `"`
			}
			return "'" + text + "'"
		}
	}
	return text
}

// takeWord is take for a word that no name of a dimension continues.
func (p *parser) takeWord(word string) bool {
	start := p.at
	if p.take(word) && (p.at == len(p.text) || !isNameByte(p.text[p.at])) && !strings.HasPrefix(strings.TrimLeft(p.text[p.at:], " \t\r\n"), "=") {
		return true
	}
	p.at = start
	return false
}
