package ziparchive_test

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
)

// TestCheckFindsWhatDiffers changes each part that an archive holds twice.
func TestCheckFindsWhatDiffers(t *testing.T) {
	var b bytes.Buffer
	z := ziparchive.NewWriter(&b, ziparchive.Options{})
	for name, content := range map[string]string{"a.txt": "some text"} {
		if _, err := z.Add(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close("a comment"); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	check := func(b []byte) error { return ziparchive.Check(bytes.NewReader(b), int64(len(b))) }
	if err := check(whole); err != nil {
		t.Fatal(err)
	}
	directory, end := bytes.Index(whole, []byte(ziparchive.DirectorySignature)), bytes.Index(whole, []byte(ziparchive.EndSignature))
	after := ziparchive.LocalSize + len("a.txt") + len("some text")
	for at, want := range map[int]string{
		0: "no header before its bytes", 4: "the versions", 7: "the versions, flags", 8: "methods", 12: "the times", 15: "the checksums", 19: "the sizes", 23: "the sizes",
		26: "the names", ziparchive.LocalSize: "the names", after + 5: "after its bytes differ", after + 9: "after its bytes differ", after + 13: "after its bytes differ",
		directory + 6: "the versions", directory + 13: "the times", directory + 17: "after its bytes differ", end + 5: "end of the archive's directory", end + 8: "end of the archive's directory",
		end + 20: "follow the archive", end + 21: "the comment of the archive is cut off",
	} {
		changed := bytes.Clone(whole)
		changed[at] ^= 1
		if err := check(changed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("byte %d: %v, want %q", at, err, want)
		}
	}
	if err := check(append(bytes.Clone(whole), 0)); err == nil || !strings.Contains(err.Error(), "1 bytes follow") {
		t.Errorf("a byte behind: %v", err)
	}
}

// TestCheckAcceptsOtherWriters: those of package archive/zip have compressed records, and a comment.
func TestCheckAcceptsOtherWriters(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"one", "two", "empty"} {
		w, err := z.Create(name)
		if err == nil && name != "empty" {
			_, err = w.Write([]byte(strings.Repeat(name, 1000)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.SetComment("ends in " + ziparchive.EndSignature + ", and 18 bytes more"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ziparchive.Check(bytes.NewReader(b.Bytes()), int64(b.Len())); err != nil {
		t.Error(err)
	}
}
