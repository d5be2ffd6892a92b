package tfbundle

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// counted counts the bytes that are read.
type counted struct {
	storage.Source
	n int
}

func (c *counted) ReadView(dst []byte, t dtype.Type, v views.View) error {
	c.n += v.Len()
	return c.Source.ReadView(dst, t, v)
}

// TestStringsAreReadInParts: of a part of a tensor, only its strings are read, and the lengths of
// at most as many more.
func TestStringsAreReadInParts(t *testing.T) {
	const n, long = 3000, 1 << 16
	var b []byte
	total := 0
	text := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), i%7*long/6) }
	for i := range n {
		b = binary.AppendUvarint(b, uint64(len(text(i))))
	}
	var lengths []byte
	for i := range n {
		lengths = binary.LittleEndian.AppendUint32(lengths, uint32(len(text(i))))
	}
	lengths = binary.LittleEndian.AppendUint32(lengths, masked(crc32.Checksum(lengths, castagnoli)))
	b = append(b, lengths[4*n:]...)
	for i := range n {
		b = append(b, text(i)...)
		total += len(text(i))
	}
	data := &counted{Source: serialize.AsSource(storage.Wrap(b))}
	whole := views.Of(n)
	sum := masked(crc32.Checksum(append(lengths, b[len(b)-total:]...), castagnoli))
	texts := newTexts(data, whole, binary.LittleEndian, sum)
	for _, part := range [][3]int{{0, 10, 1}, {250, 270, 1}, {0, n, 511}, {n - 1, n, 1}} {
		v, err := whole.Slice(0, part[0], part[1], part[2])
		if err != nil {
			t.Fatal(err)
		}
		data.n = 0
		got, err := texts.values(v)
		if err != nil || len(got) != v.Len() {
			t.Fatalf("%v: %d strings, %v", part, len(got), err)
		}
		i := part[0]
		for _, s := range got {
			if s != text(i) {
				t.Errorf("%v: string %d has %d bytes instead of %d", part, i, len(s.(string)), len(text(i)))
			}
			i += part[2]
		}
		if data.n > len(got)*(long+3*indexed)+4*n {
			t.Errorf("%v: %d bytes of %d are read", part, data.n, len(b))
		}
	}
	if err := texts.verify(t.Context(), "s"); err != nil {
		t.Errorf("checksum: %v", err)
	}
	b[len(b)-1] ^= 1
	if err := texts.verify(t.Context(), "s"); !errors.Is(err, serialize.ErrChecksum) {
		t.Errorf("a bit of the last string is flipped: %v", err)
	}
	b[0] ^= 1
	if _, err := newTexts(data, whole, binary.LittleEndian, sum).values(views.Of(1)); err == nil {
		t.Error("a bit of the first length is flipped: no error")
	}
	for name, damaged := range map[string][]byte{"one byte less": b[:len(b)-1], "no lengths": b[:20], "a long one": append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, b...)} {
		if _, err := newTexts(serialize.AsSource(storage.Wrap(damaged)), whole, binary.LittleEndian, sum).values(views.Of(1)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestElementsAreVerified: a bit that is flipped in every fourth byte of the elements is found.
func TestElementsAreVerified(t *testing.T) {
	index, err := os.ReadFile("testdata/v1.index")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/v1.data-00000-of-00001")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	name := filepath.Join(folder, "v1.index")
	if err := os.WriteFile(name, index, 0o600); err != nil {
		t.Fatal(err)
	}
	for at := 0; at <= len(data); at += 4 {
		damaged := slices.Clone(data)
		if at < len(data) {
			damaged[at] ^= 1 << (at % 8)
		}
		if err := os.WriteFile(filepath.Join(folder, "v1.data-00000-of-00001"), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := serialize.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, err := range serialize.Verify(t.Context(), f) {
			found = found || err != nil
		}
		if found != (at < len(data)) || !serialize.HasChecksums(f) {
			t.Errorf("byte %d of %d flipped: found %v", at, len(data), found)
		}
		f.Close()
	}
}
