package tfbundle

import (
	"encoding/binary"
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
	text := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), i%7*long/6) }
	for i := range n {
		b = binary.AppendUvarint(b, uint64(len(text(i))))
	}
	b = append(b, 0, 0, 0, 0)
	for i := range n {
		b = append(b, text(i)...)
	}
	data := &counted{Source: serialize.AsSource(storage.Wrap(b))}
	whole := views.Of(n)
	texts := newTexts(data, whole)
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
	for name, damaged := range map[string][]byte{"one byte less": b[:len(b)-1], "no lengths": b[:20], "a long one": append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, b...)} {
		if _, err := newTexts(serialize.AsSource(storage.Wrap(damaged)), whole).values(views.Of(1)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
