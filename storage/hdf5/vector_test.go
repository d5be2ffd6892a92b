package hdf5

import (
	"bytes"
	"testing"
)

// TestVectorSkip skips any number of bytes of parts: what is left is the rest of them.
func TestVectorSkip(t *testing.T) {
	all := []byte("abcdefghij")
	for n := range len(all) + 1 {
		v := vector{at: 100}
		left := v.skip([][]byte{all[:3], all[3:3], all[3:4], all[4:]}, n)
		if got := bytes.Join(left, nil); !bytes.Equal(got, all[n:]) || v.at != 100+int64(n) {
			t.Errorf("after %d bytes: %q at %d; want %q at %d", n, got, v.at, all[n:], 100+n)
		}
	}
}
