package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/h5dnn/h5dnn/serialize/internal/column"
)

// deltas reads n integers in DELTA_BINARY_PACKED (parquet-format/Encodings.md), modulo 1<<64,
// and returns what is after them:
//
//	uvarint integers in a block, uvarint miniblocks in a block, uvarint integers, varint first
//	varint smallest difference, byte bits of each miniblock, the miniblocks       of each block
//
// A miniblock is the differences less the smallest one, packed. Those without integers are
// left out at the end.
func deltas(b []byte, n int64) (list []uint64, rest []byte, err error) {
	damaged := fmt.Errorf("%d differences in %d bytes: %w", n, len(b), errThrift)
	number := func() uint64 {
		x, k := binary.Uvarint(b)
		if k <= 0 {
			err = damaged
			return 0
		}
		b = b[k:]
		return x
	}
	signed := func() uint64 { // zigzag
		x := number()
		return x>>1 ^ -(x & 1)
	}
	block, miniblocks, total, x := number(), number(), number(), signed()
	if err != nil || n < 0 || total != uint64(n) || miniblocks == 0 || miniblocks > block || block > 1<<20 || block%miniblocks != 0 || block/miniblocks%8 != 0 {
		return nil, nil, damaged
	}
	perMiniblock := int(block / miniblocks)
	if n > 0 {
		list = append(list, x)
	}
	for int64(len(list)) < n {
		smallest := signed()
		if err != nil || uint64(len(b)) < miniblocks {
			return nil, nil, damaged
		}
		widths := b[:miniblocks]
		b = b[miniblocks:]
		for _, width := range widths {
			if int64(len(list)) == n {
				break
			}
			size := int(width) * perMiniblock / 8
			if width > 64 || size > len(b) {
				return nil, nil, damaged
			}
			for i := range min(perMiniblock, int(n)-len(list)) {
				x += smallest + packed(b[:size], i*int(width), int(width))
				list = append(list, x)
			}
			b = b[size:]
		}
	}
	return list, b, err
}

// packed returns an integer of the given number of bits, from bit at on, the lowest first.
func packed(b []byte, at, width int) (x uint64) {
	for done := 0; done < width; {
		offset := (at + done) % 8
		n := min(8-offset, width-done)
		x |= uint64(b[(at+done)/8]>>offset) & (1<<n - 1) << done
		done += n
	}
	return x
}

// lengths returns n strings in DELTA_LENGTH_BYTE_ARRAY: their lengths, and their bytes.
func lengths(b []byte, n int64) ([]string, error) {
	sizes, b, err := deltas(b, n)
	if err != nil {
		return nil, err
	}
	list := make([]string, n)
	for i, size := range sizes {
		if size > uint64(len(b)) {
			return nil, fmt.Errorf("a string of %d bytes in %d: %w", size, len(b), errThrift)
		}
		list[i], b = string(b[:size]), b[size:]
	}
	return list, nil
}

// prefixed appends n strings in DELTA_BYTE_ARRAY: how many bytes each has in common with the
// one before it, and the other bytes as in lengths.
func (c *columnReader) prefixed(d *column.Values, content []byte, n int64) error {
	common, rest, err := deltas(content, n)
	if err != nil {
		return err
	}
	ends, err := lengths(rest, n)
	if err != nil {
		return err
	}
	last, total := "", 0
	for i, size := range common {
		if size > uint64(len(last)) {
			return fmt.Errorf("a string begins with %d bytes of one of %d: %w", size, len(last), errThrift)
		}
		last = last[:size] + ends[i]
		if total += len(last); total > 1<<20 {
			if err := c.in.Budget.Make(total, len(content)); err != nil {
				return err
			}
			total = 0
		}
		d.Texts = append(d.Texts, last)
	}
	return nil
}

// split returns n elements of the given number of bytes in BYTE_STREAM_SPLIT, where the first bytes of all
// come first, as they are in PLAIN.
func split(b []byte, size int, n int64) ([]byte, error) {
	if n < 0 || n > int64(len(b))/int64(size) {
		return nil, fmt.Errorf("%d values in %d bytes: %w", n, len(b), errThrift)
	}
	out := make([]byte, int(n)*size)
	for i := range int(n) {
		for k := range size {
			out[i*size+k] = b[k*int(n)+i]
		}
	}
	return out, nil
}
