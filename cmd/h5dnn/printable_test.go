package main

import "testing"

func TestPrintableEscapesWhatTerminalsObey(t *testing.T) {
	for in, want := range map[string]string{
		"température":  "température",
		"a\nb\x1b[31m": `a\nb\x1b[31m`,
		"\xb5m":        `\xb5m`, // Latin-1
		"\u202egpj":    `\u202egpj`,
		"\ufffd":       `\ufffd`,
	} {
		if got := printable(in); got != want {
			t.Errorf("%q is printed as %s, want %s", in, got, want)
		}
	}
}
