package column_test

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/h5dnn/h5dnn/serialize/internal/column"
)

// TestDecodeZstd: what expands a little and a lot, and other sizes than declared.
func TestDecodeZstd(t *testing.T) {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]byte{nil, []byte("text"), make([]byte, 20<<20)} {
		b := w.EncodeAll(want, nil)
		if got, err := column.DecodeZstd(b, len(want)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d, %v", len(want), len(got), err)
		}
		for _, size := range []int{len(want) + 1, len(want) / 2} {
			if got, err := column.DecodeZstd(b, size); size != len(want) && err == nil {
				t.Errorf("%d bytes as %d: %d", len(want), size, len(got))
			}
		}
	}
}
