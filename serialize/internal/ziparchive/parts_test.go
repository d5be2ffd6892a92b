package ziparchive_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
)

// TestPartsHaveAllRecords, in their order, with the comment. An archive of few records, one whose directory is cut
// off, and one that says another number are yielded as they are.
func TestPartsHaveAllRecords(t *testing.T) {
	archive := func(n int) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i := range n {
			w, err := z.Create(fmt.Sprint("record ", i))
			if err == nil {
				_, err = fmt.Fprint(w, "bytes ", i)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		z.SetComment("a comment")
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for n, want := range map[int]int{0: 1, 1000: 1, 1001: 2, 2500: 3} {
		b := archive(n)
		parts, count := ziparchive.Parts(bytes.NewReader(b), int64(len(b)))
		found, i := 0, 0
		for r, size := range parts {
			found++
			z, err := zip.NewReader(r, size)
			if err != nil || z.Comment != "a comment" {
				t.Fatalf("part %d of %d records: comment %q, %v", found, n, z.Comment, err)
			}
			for _, file := range z.File {
				r, err := file.Open()
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(r)
				if file.Name != fmt.Sprint("record ", i) || string(text) != fmt.Sprint("bytes ", i) || err != nil {
					t.Errorf("record %d of %d is %q: %q, %v", i, n, file.Name, text, err)
				}
				i++
			}
		}
		if i != n || count != n || found != want {
			t.Errorf("%d records of %d, of which there are %d, in %d parts, want %d", i, count, n, found, want)
		}
	}
	whole := archive(2500)
	end := len(whole) - ziparchive.EndSize - len("a comment")
	for name, change := range map[string]func(b []byte) []byte{
		"without its end":          func(b []byte) []byte { return b[:end-10] },
		"of another number":        func(b []byte) []byte { b[end+10]++; return b },
		"with a damaged directory": func(b []byte) []byte { b[end-50]++; copy(b[bytes.LastIndex(b[:end], []byte("PK")):], "XX"); return b },
		"with bytes after its end": func(b []byte) []byte { return append(b, 0) },
		"with a comment cut off":   func(b []byte) []byte { return b[:len(b)-1] },
		"with nothing but its end": func(b []byte) []byte { return b[end:] },
		"with a longer directory":  func(b []byte) []byte { b[end+12] += 20; return b },
		"with a shorter directory": func(b []byte) []byte { b[end+12]--; return b },
	} {
		b := change(bytes.Clone(whole))
		parts, _ := ziparchive.Parts(bytes.NewReader(b), int64(len(b)))
		found := 0
		for _, size := range parts {
			if found++; size != int64(len(b)) {
				t.Errorf("%s: a part of %d bytes, want the archive of %d", name, size, len(b))
			}
		}
		if found != 1 {
			t.Errorf("%s: %d parts, want the archive as it is", name, found)
		}
	}
}
