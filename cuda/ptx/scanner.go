package ptx

import (
	"fmt"
	"strings"
)

// A scanner cuts text into words and signs.
type scanner struct {
	text string
	at   int
	word string // the current one; empty at the end
	from int    // where it starts
}

// A syntaxError is how parsing stops, up to Parse.
type syntaxError struct{ error }

// fail stops with an error at the current word.
func (s *scanner) fail(format string, args ...any) {
	line := 1 + strings.Count(s.text[:s.from], "\n")
	panic(syntaxError{fmt.Errorf("ptx: line %d: %s", line, fmt.Sprintf(format, args...))})
}

// next moves to the next word or sign, past blanks and comments.
func (s *scanner) next() {
	s.skip()
	s.from = s.at
	for s.at < len(s.text) && inWord(s.text[s.at]) {
		s.at++
	}
	if s.at == s.from && s.at < len(s.text) {
		s.at++
	}
	s.word = s.text[s.from:s.at]
}

func (s *scanner) skip() {
	for s.at < len(s.text) {
		switch rest := s.text[s.at:]; {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			s.at++
		case strings.HasPrefix(rest, "//"):
			s.to("\n")
		case strings.HasPrefix(rest, "/*"):
			s.to("*/")
		default:
			return
		}
	}
}

// to moves behind the next end, or to the end of the text.
func (s *scanner) to(end string) {
	if i := strings.Index(s.text[s.at:], end); i >= 0 {
		s.at += i + len(end)
	} else {
		s.at = len(s.text)
	}
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_$%.", c) >= 0
}

// take returns the current word and moves on.
func (s *scanner) take() string {
	word := s.word
	if word == "" {
		s.fail("the text ends early")
	}
	s.next()
	return word
}

// accept moves past word if it is the current one.
func (s *scanner) accept(word string) bool {
	if s.word != word {
		return false
	}
	s.next()
	return true
}

// want moves past word, which must be the current one.
func (s *scanner) want(word string) {
	if !s.accept(word) {
		s.fail("found %q where %q belongs", s.word, word)
	}
}
