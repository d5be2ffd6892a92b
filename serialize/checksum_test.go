package serialize_test

import (
	"errors"
	"hash/crc32"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestPartsReadInOrderAreVerified: the last of reads of all bytes, one after the other, fails if one
// of the bytes has changed, also after a run that was broken off; reads in another order succeed.
func TestPartsReadInOrderAreVerified(t *testing.T) {
	good := []byte("header and 25 more bytes.")
	table := crc32.MakeTable(crc32.Castagnoli)
	before, want := crc32.Checksum(good[:7], table), crc32.Checksum(good, table)
	for _, changed := range []bool{false, true} {
		data := append([]byte{}, good[7:]...)
		if changed {
			data[3] ^= 1
		}
		compare := func(sum uint32) error { return serialize.CompareChecksums("x", sum, want) }
		s := serialize.Verified(serialize.AsSource(storage.Wrap(data)), table, before, compare)
		read := func(from, to int) error {
			return s.ReadView(make([]byte, to-from), dtype.Uint8, views.View{Shape: []int{to - from}, Stride: []int{1}, Offset: from})
		}
		for i, c := range []struct {
			from, to int
			last     bool
		}{{0, 18, true}, {9, 18, false}, {0, 9, false}, {4, 9, false}, {0, 4, false}, {4, 4, false}, {4, 12, false}, {12, 18, true}, {0, 17, false}, {17, 18, true}, {0, 9, false}, {12, 18, false}, {15, 18, false}} {
			if err := read(c.from, c.to); errors.Is(err, serialize.ErrChecksum) != (changed && c.last) {
				t.Errorf("read %d of [%d, %d), changed %v: %v", i, c.from, c.to, changed, err)
			}
		}
	}
}
