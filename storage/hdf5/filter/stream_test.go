package filter

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

// TestStreamsDecodeAsWhole compares DecodeStream with what was encoded, for elements of several sizes,
// whole and incomplete.
func TestStreamsDecodeAsWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{1, 5, 4096, 100_003, 3 << 20} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(random.IntN(7))
		}
		for _, pipeline := range [][]Filter{{Deflate(1)}, {Shuffle(), Deflate(6)}} {
			for _, width := range []int{1, 2, 4, 8, 12} {
				stored, mask, err := Encode(want, pipeline, width)
				if err != nil {
					t.Fatal(err)
				}
				if mask != 0 {
					continue // too small to be compressed
				}
				if !Streams(pipeline, mask) {
					t.Fatalf("%v is not streamed", pipeline)
				}
				got := make([]byte, size)
				if err := DecodeStream(got, iotest.HalfReader(bytes.NewReader(stored)), pipeline, width); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%v, %d bytes, elements of %d: differs, %v", pipeline, size, width, err)
				}
			}
		}
	}
}

// TestDamagedStreamsFail decodes bytes that are cut short, changed, or of another length.
func TestDamagedStreamsFail(t *testing.T) {
	data := bytes.Repeat([]byte("abcdefghij"), 1000)
	for _, pipeline := range [][]Filter{{Deflate(1)}, {Shuffle(), Deflate(1)}} {
		stored, _, err := Encode(data, pipeline, 4)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(stored)
		changed[len(changed)-1]++ // of the checksum
		for what, c := range map[string]struct {
			stored []byte
			size   int
		}{
			"cut": {stored[:len(stored)/2], len(data)}, "without checksum": {stored[:len(stored)-4], len(data)}, "changed": {changed, len(data)},
			"short": {stored, len(data) + 8}, "long": {stored, len(data) - 8}, "empty": {nil, len(data)},
		} {
			if err := DecodeStream(make([]byte, c.size), bytes.NewReader(c.stored), pipeline, 4); err == nil {
				t.Errorf("%v, %s: no error", pipeline, what)
			}
		}
		failure := errors.New("failure")
		r := io.MultiReader(bytes.NewReader(stored[:20]), iotest.ErrReader(failure))
		if err := DecodeStream(make([]byte, len(data)), r, pipeline, 4); err != failure {
			t.Errorf("%v: %v, want the error of the reader", pipeline, err)
		}
	}
	for _, other := range [][]Filter{nil, {Shuffle()}, {Deflate(1), Fletcher32()}, {Deflate(1), Shuffle()}, {Shuffle(), Shuffle(), Deflate(1)}} {
		if Streams(other, 0) {
			t.Errorf("%v is streamed", other)
		}
	}
	if Streams([]Filter{Shuffle(), Deflate(1)}, 1) {
		t.Error("a pipeline with a skipped filter is streamed")
	}
}
