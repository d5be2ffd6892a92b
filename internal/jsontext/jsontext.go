// Package jsontext parses JSON of files from strangers: strictly, in one pass, without
// building values that the caller did not ask for.
//
// Unlike encoding/json it refuses keys that occur twice in an object and numbers that are
// not exact, and its strings share the memory of the text. A header of 10,000 tensors is
// parsed in a few milliseconds.
package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrSyntax is the kind of error, for errors.Is, of text that is not what the caller
// asked for.
var ErrSyntax = errors.New("invalid JSON")

// maxDepth is how deeply values may be nested.
const maxDepth = 64

// A Parser reads one value after the other. After the first error, which Err returns, all
// values are empty.
type Parser struct {
	text      string
	at, depth int
	err       error
}

// New returns a parser of text.
func New(text string) *Parser {
	p := &Parser{text: text}
	if !utf8.ValidString(text) {
		p.Fail("the text is not UTF-8")
	}
	return p
}

// Fail makes an error of the present position, if it is the first one.
func (p *Parser) Fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w at byte %d: %s", ErrSyntax, p.at, fmt.Sprintf(format, args...))
		p.at = len(p.text)
	}
}

// End expects nothing but white space after the last value, and returns Err.
func (p *Parser) End() error {
	if p.space(); p.at < len(p.text) {
		p.Fail("text after the end")
	}
	return p.err
}

func (p *Parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\n', '\t', '\r':
			p.at++
		default:
			return
		}
	}
}

// Next returns the first character of the next value: one of {["-0…9tfn, or 0 at the end.
func (p *Parser) Next() byte {
	if p.space(); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *Parser) take(c byte) bool {
	if p.Next() != c {
		return false
	}
	p.at++
	return true
}

func (p *Parser) expect(c byte) {
	if !p.take(c) {
		p.Fail("want %q", string(c))
	}
}

// Object reads an object and calls member for each key, which must read the value. A key
// that was there before is an error.
func (p *Parser) Object(member func(key string)) {
	var few [8]string
	var many map[string]bool
	n := 0
	p.list('{', '}', func() {
		key := p.String()
		seen := many[key]
		for _, before := range few[:min(n, len(few))] {
			seen = seen || before == key
		}
		if seen && p.err == nil {
			p.Fail("key %q twice", key)
		}
		switch {
		case n < len(few):
			few[n] = key
		case many == nil:
			many = map[string]bool{key: true}
		default:
			many[key] = true
		}
		n++
		if p.expect(':'); p.err == nil {
			member(key)
		}
	})
}

// Array reads an array and calls element for each element, which must read it.
func (p *Parser) Array(element func()) { p.list('[', ']', element) }

func (p *Parser) list(open, end byte, item func()) {
	if p.depth++; p.depth > maxDepth {
		p.Fail("more than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	p.expect(open)
	if p.take(end) {
		return
	}
	for p.err == nil {
		if item(); !p.take(',') {
			p.expect(end)
			return
		}
	}
}

// String reads a string.
func (p *Parser) String() string {
	p.expect('"')
	start := p.at
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return p.text[start : p.at-1]
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			p.Fail("control character in a string")
		default:
			p.at++
		}
	}
	p.Fail("a string without end")
	return ""
}

// escaped reads a string with escapes, whose characters begin at start.
func (p *Parser) escaped(start int) string {
	for p.at < len(p.text) && p.text[p.at] != '"' {
		if p.text[p.at] == '\\' {
			p.at++
		}
		p.at++
	}
	if p.at >= len(p.text) {
		p.Fail("a string without end")
		return ""
	}
	p.at++
	var s string
	if err := json.Unmarshal([]byte(p.text[start-1:p.at]), &s); err != nil {
		p.Fail("a string with wrong escapes")
	}
	return s
}

// number returns the characters of the next number.
func (p *Parser) number() string {
	p.space()
	start := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.0123456789eE", p.text[p.at]) >= 0 {
		p.at++
	}
	return p.text[start:p.at]
}

// Int reads an integer from 0 to the largest int. Anything else is an error, such as 1.0.
func (p *Parser) Int() int {
	p.space()
	start, n := p.at, 0
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		digit := int(p.text[p.at] - '0')
		if n > (math.MaxInt-digit)/10 {
			p.Fail("a number that is too large")
			return 0
		}
		n = 10*n + digit
		p.at++
	}
	text := p.text[min(start, p.at):p.at]
	if text == "" || text[0] == '0' && len(text) > 1 || p.at < len(p.text) && strings.IndexByte(".eE", p.text[p.at]) >= 0 {
		p.Fail("want an integer that is not negative")
		return 0
	}
	return n
}

// Ints reads an array of integers. It is never nil.
func (p *Parser) Ints() []int {
	list := []int{}
	p.Array(func() { list = append(list, p.Int()) })
	return list
}

// Strings reads an object of strings.
func (p *Parser) Strings() map[string]string {
	list := map[string]string{}
	p.Object(func(key string) { list[key] = p.String() })
	return list
}

// Skip reads any value and returns its text.
func (p *Parser) Skip() string {
	p.space()
	start := p.at
	switch c := p.Next(); {
	case c == '{':
		p.Object(func(string) { p.Skip() })
	case c == '[':
		p.Array(func() { p.Skip() })
	case c == '"':
		_ = p.String()
	case c == '-' || '0' <= c && c <= '9':
		if text := p.number(); !json.Valid([]byte(text)) {
			p.Fail("%q is no number", text)
		}
	default:
		for _, word := range []string{"true", "false", "null"} {
			if strings.HasPrefix(p.text[p.at:], word) {
				p.at += len(word)
				return word
			}
		}
		p.Fail("want a value")
	}
	return p.text[min(start, p.at):p.at]
}

// Append appends s to b as a JSON string. Only what must be is escaped.
func Append(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b', '\t', '\n', '\f', '\r':
			b = append(b, '\\', "btn?fr"[c-'\b'])
		default:
			b = append(b, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
	}
	return append(append(b, s[start:]...), '"')
}

// Comma appends the comma before element i of a list.
func Comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

// AppendInts appends an array of integers to b.
func AppendInts(b []byte, list ...int) []byte {
	b = append(b, '[')
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}
