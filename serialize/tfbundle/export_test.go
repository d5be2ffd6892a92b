package tfbundle

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// WithoutChecksums switches the verification of checksums of the index off until the end of
// the test, because hardly any mutation would get past them.
func WithoutChecksums(t testing.TB) {
	verifyChecksums = false
	t.Cleanup(func() { verifyChecksums = true })
}

// LongNames returns an index of n names of the given length, each of which shares all but the
// last 4 bytes with the one before it.
func LongNames(length, n int) []byte {
	var b []byte
	entry := func(shared int, key, value string) { b = appendEntry(b, shared, key, value) }
	entry(0, "", "\x08\x01") // the header, of one data file
	entry(0, string(make([]byte, length)), "")
	for i := range n {
		entry(length-4, string(binary.BigEndian.AppendUint32(nil, uint32(i+1))), "")
	}
	return indexOf(b)
}

// Index returns the index of a checkpoint with a data file, of entries by key in ascending order.
func Index(entries ...[2]string) []byte {
	b := appendEntry(nil, 0, "", "\x08\x01")
	for _, e := range entries {
		b = appendEntry(b, 0, e[0], e[1])
	}
	return indexOf(b)
}

// appendEntry appends a key that shares bytes with the one before it, and its value.
func appendEntry(b []byte, shared int, key, value string) []byte {
	for _, x := range []int{shared, len(key), len(value)} {
		b = binary.AppendUvarint(b, uint64(x))
	}
	return append(append(b, key...), value...)
}

// indexOf returns a table of one block of entries.
func indexOf(entries []byte) []byte {
	stored := func(block []byte) []byte {
		block = append(binary.LittleEndian.AppendUint32(block, 0), 1, 0, 0, 0, 0)
		return binary.LittleEndian.AppendUint32(block, masked(crc32.Checksum(block, castagnoli)))
	}
	out := stored(entries)
	size := len(out) - trailerSize
	top := stored(appendEntry(nil, 0, "\xff", string(binary.AppendUvarint([]byte{0}, uint64(size)))))
	footer := binary.AppendUvarint(binary.AppendUvarint([]byte{0, 0}, uint64(len(out))), uint64(len(top)-trailerSize))
	footer = append(footer, make([]byte, footerSize-8-len(footer))...)
	return append(append(out, top...), binary.LittleEndian.AppendUint64(footer, tableMagic)...)
}
