package npy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A tuple and a list are Python's. Other values are string, int, bool and a *dict.
type (
	tuple []any
	list  []any
)

// A dict is a Python dict with keys that are strings.
type dict struct {
	keys   []string
	values map[string]any
}

// A parser reads Python literals, as far as headers have them. The first error stays.
type parser struct {
	text string
	at   int
	err  error
}

// parse reads text that is one dict.
func parse(text string) (*dict, error) {
	p := parser{text: text}
	p.expect("{")
	d := &dict{values: map[string]any{}}
	for p.err == nil && !p.take("}") {
		key := p.quoted()
		p.expect(":")
		if _, twice := d.values[key]; twice {
			p.fail("key %q twice", key)
		}
		d.keys, d.values[key] = append(d.keys, key), p.value(0)
		if !p.take(",") {
			p.expect("}")
			break
		}
	}
	if p.space(); p.err == nil && p.at < len(p.text) {
		p.fail("text after the end")
	}
	return d, p.err
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("position %d: %s", p.at, fmt.Sprintf(format, args...))
	}
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) take(word string) bool {
	p.space()
	if p.err != nil || !strings.HasPrefix(p.text[p.at:], word) {
		return false
	}
	p.at += len(word)
	return true
}

func (p *parser) expect(word string) {
	if !p.take(word) {
		p.fail("want %s", word)
	}
}

// maxDepth bounds structured types in structured types.
const maxDepth = 32

func (p *parser) value(depth int) any {
	if p.space(); depth > maxDepth || p.at == len(p.text) {
		p.fail("want a value")
		return nil
	}
	switch c := p.text[p.at]; {
	case p.take("True"):
		return true
	case p.take("False"):
		return false
	case p.take("("):
		return tuple(p.items(")", depth))
	case p.take("["):
		return list(p.items("]", depth))
	case c == '\'' || c == '"' || c == 'u':
		return p.quoted()
	}
	return p.integer()
}

func (p *parser) items(end string, depth int) []any {
	items := []any{}
	for p.err == nil && !p.take(end) {
		items = append(items, p.value(depth+1))
		if !p.take(",") {
			p.expect(end)
			break
		}
	}
	return items
}

// integer reads an integer. Python 2 wrote them with an L.
func (p *parser) integer() int {
	start := p.at
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	n, err := strconv.Atoi(p.text[start:p.at])
	if err != nil {
		p.at = start
		p.fail("want a size")
	}
	p.take("L")
	return n
}

// quoted reads a string in either kind of quotes, as repr writes it: that of Python 2 before those of
// Unicode a u.
func (p *parser) quoted() string {
	p.take("u")
	if p.space(); p.at == len(p.text) || p.text[p.at] != '\'' && p.text[p.at] != '"' {
		p.fail("want a string")
		return ""
	}
	quote := p.text[p.at]
	var b strings.Builder
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; c {
		case quote:
			p.at = i + 1
			return b.String()
		case '\n':
			p.fail("string without end")
			return ""
		case '\\':
			r, n := escaped(p.text[i:])
			if n == 0 {
				p.fail("unknown escape sequence")
				return ""
			}
			b.WriteRune(r)
			i += n - 1
		default:
			b.WriteByte(c)
		}
	}
	p.fail("string without end")
	return ""
}

// escaped reads the escape sequence that text begins with, of n bytes.
func escaped(text string) (r rune, n int) {
	if len(text) < 2 {
		return 0, 0
	}
	switch text[1] {
	case '\\', '\'', '"':
		return rune(text[1]), 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[1]]
	if digits == 0 || len(text) < 2+digits {
		return 0, 0
	}
	x, err := strconv.ParseUint(text[2:2+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(x)) {
		return 0, 0
	}
	return rune(x), 2 + digits
}
