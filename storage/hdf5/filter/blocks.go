package filter

import (
	"encoding/binary"
	"slices"
	"sort"
)

// Blocks are the parts of a stored chunk that its filter compressed each alone.
type Blocks struct {
	Size int // of a block but the last, decoded

	header bloscHeader
	read   func(b []byte, at int) error
	starts []int // offsets of the stored blocks
	sorted []int // the same, ascending, and the end of the last
}

// OpenBlocks returns the blocks of a chunk of size bytes that is stored in a number of bytes, or nil if it must be
// decoded as a whole. read fills b with stored bytes from an offset on.
func OpenBlocks(size, stored int, pipeline []Filter, mask uint32, read func(b []byte, at int) error) (*Blocks, error) {
	if len(pipeline) != 1 || pipeline[0].ID != BloscID || mask != 0 || stored < 16 {
		return nil, nil
	}
	prefix := make([]byte, 16)
	if err := read(prefix, 0); err != nil {
		return nil, err
	}
	h, err := parseBloscHeader(prefix, size, stored)
	if err != nil {
		return nil, err
	}
	if h.flags&bloscCopied != 0 || h.size != size {
		return nil, nil
	}
	table := make([]byte, min((size+h.block-1)/h.block*4, stored-16))
	if err := read(table, 16); err != nil {
		return nil, err
	}
	b := &Blocks{Size: h.block, header: h, read: read}
	for at := 0; at < size; at += h.block {
		if len(table) < 4 || int(binary.LittleEndian.Uint32(table)) > h.stored {
			return nil, errCorrupt
		}
		b.starts = append(b.starts, int(binary.LittleEndian.Uint32(table)))
		table = table[4:]
	}
	b.sorted = append(slices.Sorted(slices.Values(b.starts)), h.stored)
	return b, nil
}

// WorkSize returns the number of bytes of memory that Decode needs beside the chunk.
func (b *Blocks) WorkSize() (n int) {
	for k := 1; k < len(b.sorted); k++ {
		n = max(n, b.sorted[k]-b.sorted[k-1])
	}
	return n + 2*min(b.Size, b.header.size)
}

// Decode decodes block k into its place in dst, the memory of the whole chunk.
func (b *Blocks) Decode(dst, work []byte, k int) error {
	start := b.starts[k]
	end := b.sorted[sort.SearchInts(b.sorted, start+1)%len(b.sorted)]
	if end <= start {
		return errCorrupt
	}
	to := dst[k*b.Size : min((k+1)*b.Size, len(dst))]
	src, packed := work[:end-start], work[end-start:]
	if err := b.read(src, start); err != nil {
		return err
	}
	return b.header.decode(to, src, packed[:len(to)], packed[len(to):])
}
