package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// clumsy matches clauses that a noun would replace, and metaphors that have a term of the field.
var clumsy = regexp.MustCompile(`(?i)\b(of which|that of|those of|what (\S+ )?(\S+ )?(is|are|was|were)|likewise|` +
	`dials?|decks?|tall(y|ies)|plants?|memos?|rooms?|pieces?|slopes?|steer\w*|sayings?)\b`)

// A found is a line of a comment, a string or a page that clumsy matches.
type found struct {
	folder, at, text string
}

// clumsyLines returns the lines of the text of a Go file's comments and strings, or of a page, that clumsy matches.
func clumsyLines(name string) (lines []found, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(name) == ".go" {
		text = onlyText(text)
	}
	page := bufio.NewScanner(bytes.NewReader(text))
	page.Buffer(nil, 1<<20)
	for n := 1; page.Scan(); n++ {
		if clumsy.Match(page.Bytes()) {
			lines = append(lines, found{filepath.Dir(name), fmt.Sprintf("%s:%d", name, n), strings.TrimSpace(page.Text())})
		}
	}
	return lines, page.Err()
}

// onlyText blanks all of a Go file but its comments and strings.
func onlyText(source []byte) []byte {
	out := bytes.Repeat([]byte{' '}, len(source))
	for i, b := range source {
		if b == '\n' {
			out[i] = b
		}
	}
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return out
		case token.COMMENT, token.STRING:
			copy(out[file.Offset(pos):], text)
		}
	}
}
