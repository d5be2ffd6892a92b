package torch_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
)

// TestEveryBitOfRecordsIsVerified: a bit that is flipped in a local header, its name, the bytes of a
// record or what follows them is found, in files of PyTorch and of save. (Of compressed bytes several
// stand for the same.)
func TestEveryBitOfRecordsIsVerified(t *testing.T) {
	for _, name := range []string{"testdata/bare.pt", through(t, "testdata/bare.pt", ".pt")} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !verifies(b) {
			t.Fatalf("%s: a problem in an intact file", name)
		}
		flips := 0
		for _, at := range recordBytes(t, b) {
			b[at] ^= 1 << (at % 8)
			if verifies(b) {
				t.Errorf("%s: the bit flipped in byte %d is not found", name, at)
			}
			b[at] ^= 1 << (at % 8)
			flips++
		}
		if flips < 500 {
			t.Errorf("%s: %d bits were flipped", name, flips)
		}
	}
}

// recordBytes returns the offsets of the bytes of an archive that are in records, but for the
// lengths and contents of extra fields, which may be any, as far as the records are found.
func recordBytes(t *testing.T, b []byte) (offsets []int) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range z.File {
		data, err := x.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		header := int(data) - 30 - len(x.Name)
		for string(b[header:header+4]) != "PK\x03\x04" { // extra fields
			header--
		}
		end := int(data) + int(x.CompressedSize64)
		if string(b[end:end+4]) == "PK\x07\x08" {
			end += 16
		}
		for at := header; at < end; at++ {
			if at < header+30+len(x.Name) || at >= header+30+len(x.Name)+int(binary.LittleEndian.Uint16(b[header+28:])) {
				offsets = append(offsets, at)
			}
		}
	}
	return offsets
}

// verifies reports whether a file has no problem.
func verifies(b []byte) bool {
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "a.pt", serialize.Options{Format: "torch"})
	if err != nil {
		return false
	}
	defer f.Close()
	for _, err := range serialize.Verify(context.Background(), f) {
		if err != nil {
			return false
		}
	}
	return true
}
