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
		if f.at > 0 {
			file[0] = 'x'
		}
		if got, _ := Of(bytes.NewReader(file), int64(len(file))); got != f.name {
			t.Errorf("%q: %q, want %q", f.magic, got, f.name)
		}
	}
	for _, file := range []string{"x", "hello", "\x89HDF"} {
		if got, _ := Of(strings.NewReader(file), int64(len(file))); got != "" {
			t.Errorf("%q: %q, want nothing", file, got)
		}
	}
	if got := Text(strings.NewReader(""), 0); got != "this is an empty file" {
		t.Errorf("an empty file: %q", got)
	}
}
