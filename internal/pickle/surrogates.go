package pickle

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// withSurrogates returns a str of Python that is not Unicode: it has surrogates, as Python makes of bytes
// in names of files that are not UTF-8. It is an object of class builtins.str made of the text with
// escapes. Other bytes that are not UTF-8 are not ok.
func withSurrogates(b []byte) (value any, ok bool) {
	var text strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r != utf8.RuneError || n > 1:
			text.Write(b[:n])
		case len(b) >= 3 && b[0] == 0xed && b[1]&0xe0 == 0xa0 && b[2]&0xc0 == 0x80:
			n = 3
			fmt.Fprintf(&text, `\u%04x`, 0xd000|int(b[1]&0x3f)<<6|int(b[2]&0x3f))
		default:
			return nil, false
		}
		b = b[n:]
	}
	return &Object{Class: Global{"builtins", "str"}, Args: Tuple{text.String()}}, true
}
