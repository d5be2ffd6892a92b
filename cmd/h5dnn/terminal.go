package main

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/term"

	"github.com/h5dnn/h5dnn/arrayfmt"
)

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// isRedrawn reports whether w is a terminal on which a line can be written again.
func isRedrawn(w io.Writer) bool { return isTerminal(w) && os.Getenv("TERM") != "dumb" }

// widthOf returns the number of columns of w, at least NumPy's default of 75.
func widthOf(w io.Writer) int {
	if isTerminal(w) {
		if width, _, err := term.GetSize(int(w.(*os.File).Fd())); err == nil {
			return max(width, arrayfmt.LineWidth)
		}
	}
	return arrayfmt.LineWidth
}

// buffered calls write with a buffered writer to w, or with w if it is a terminal.
func buffered(w io.Writer, write func(io.Writer) error) error {
	if isTerminal(w) {
		return write(w)
	}
	b := bufio.NewWriterSize(w, 64<<10)
	err := write(b)
	return cmp.Or(b.Flush(), err)
}

// A lasting writer passes writes on to w until one fails. What is written then is
// dropped, so that a closed pipe or terminal does not end what goes on beside.
type lasting struct {
	w   io.Writer
	err error // the first
}

func (l *lasting) Write(b []byte) (int, error) {
	if l.err == nil {
		_, l.err = l.w.Write(b)
	}
	return len(b), nil
}

// lost returns the error that output was lost to, unless its reader is gone: a closed
// pipe, or a terminal that hung up.
func (l *lasting) lost() error {
	if errors.Is(l.err, syscall.EPIPE) || errors.Is(l.err, syscall.EIO) {
		return nil
	}
	return l.err
}

// A palette colours text on terminals only.
type palette bool

// paletteFor follows https://no-color.org.
func paletteFor(w io.Writer) palette {
	return palette(isRedrawn(w) && os.Getenv("NO_COLOR") == "")
}

func (p palette) bold(s string) string  { return p.wrap("1", s) }
func (p palette) faint(s string) string { return p.wrap("2", s) }
func (p palette) blue(s string) string  { return p.wrap("34", s) }
func (p palette) red(s string) string   { return p.wrap("31", s) }

func (p palette) wrap(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
