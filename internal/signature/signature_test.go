package signature

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Example names a file of the first netCDF format.
func Example() {
	file := "CDF\x01\x00\x00\x00\x00"
	fmt.Println(Text(strings.NewReader(file), int64(len(file))))
	// Output: this is a netCDF-3 file, which is not read; nccopy -k nc4 IN OUT converts it
}

func TestEveryFormatIsRecognized(t *testing.T) {
	for _, f := range formats {
		file := append(make([]byte, f.at), f.magic...)
		file = append(file, make([]byte, 100)...)
		file = append(file, "PK\x05\x06"...) // the end of a zip archive
		if f.at > 0 {
			file[0] = 'x'
		}
		if got, _ := of(bytes.NewReader(file), int64(len(file))); got != f.name {
			t.Errorf("%q: %q, want %q", f.magic, got, f.name)
		}
	}
	for _, file := range []string{"x", "hello", "\x89HDF"} {
		if got, _ := of(strings.NewReader(file), int64(len(file))); got != "" {
			t.Errorf("%q: %q, want nothing", file, got)
		}
	}
	cut := "PK\x03\x04" + strings.Repeat("x", 1<<17)
	if got, hint := of(strings.NewReader(cut), int64(len(cut))); got != "a zip archive without its end" || !strings.Contains(hint, "truncated") {
		t.Errorf("a truncated archive: %q, %q", got, hint)
	}
	if got := Text(strings.NewReader(""), 0); got != "this is an empty file" {
		t.Errorf("an empty file: %q", got)
	}
}

func TestBeginning(t *testing.T) {
	for content, want := range map[string]string{
		"# Größe\r\nmore":          `it begins with the text "# Größe"`,
		strings.Repeat("ä", 30):    `it begins with the text "` + strings.Repeat("ä", 20) + `"`,
		"\x00\x01abcdefghij":       "it begins with the bytes 00 01 61 62 63 64 65 66",
		"ab\xff\xfe, and text":     "it begins with the bytes 61 62 ff fe 2c 20 61 6e",
		"\n":                       "it begins with the bytes 0a",
		string(make([]byte, 1000)): "its first 512 bytes are zeros, as in a copy or a download that did not finish",
	} {
		if got := Beginning(strings.NewReader(content), int64(len(content))); got != want {
			t.Errorf("%q: %s, want %s", content, got, want)
		}
	}
}
