package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/h5dnn/h5dnn/serialize/internal/column"
)

// Types of pages.
const pageData, pageDictionary, pageDataV2 = 0, 2, 3

// A pageReader decodes a column page by page.
type pageReader struct {
	*columnReader
	left       chunk   // of the chunk that is being decoded
	chunks     []chunk // that follow
	dictionary *column.Values
	list       openList
}

// An openList is the list whose elements are being read.
type openList struct {
	open   bool
	length int // or column.MissingList
}

// next appends the values of a page.
func (p *pageReader) next(d *column.Values) error {
	for {
		for p.left.values <= 0 {
			if len(p.chunks) == 0 {
				return p.end(d)
			}
			p.left, p.chunks, p.dictionary = p.chunks[0], p.chunks[1:], nil
		}
		header, content, err := p.read()
		if err != nil {
			return err
		}
		switch integer(header, 1) {
		case pageDictionary:
			if content, err = p.decompress(content, p.left.codec, integer(header, 2)); err != nil {
				return err
			}
			p.dictionary = &column.Values{}
			if err := p.plain(p.dictionary, content, integer(sub(header, 7), 1)); err != nil {
				return err
			}
		case pageData, pageDataV2:
			page, err := p.split(header, content)
			if err != nil {
				return err
			}
			p.left.values -= page.n
			return p.decode(d, page)
		}
	}
}

// end ends the last list, or returns io.EOF.
func (p *pageReader) end(d *column.Values) error {
	if !p.list.open {
		return io.EOF
	}
	d.Lists = append(d.Lists, p.list.length)
	p.list.open = false
	return nil
}

// headerBytes are read at first for the header of a page, which has no limit.
const headerBytes = 4 << 10

// read reads the header and the content of the next page.
func (p *pageReader) read() (header object, content []byte, err error) {
	k := &p.left
	var head *decoder
	for n := int64(min(headerBytes, k.size)); ; n = min(16*n, k.size) {
		b := make([]byte, n)
		if err := p.in.ReadFull(b, k.at); err != nil {
			return nil, nil, err
		}
		head = &decoder{b: b, budget: p.in.Budget}
		if header = head.object(0); head.err == nil {
			break
		}
		if n == k.size {
			return nil, nil, head.err
		}
	}
	size, packed, left := integer(header, 2), integer(header, 3), k.size-int64(head.at)
	if packed < 0 || packed > left || size < 0 || size > math.MaxInt32 {
		return nil, nil, fmt.Errorf("a page of %d bytes in %d: %w", packed, left, errThrift)
	}
	content = make([]byte, packed)
	at := k.at + int64(head.at)
	k.at, k.size = at+packed, left-packed
	return header, content, p.in.ReadFull(content, at)
}

// A page is values as they are stored, decompressed.
type page struct {
	n          int64 // values and levels without one
	repetition []byte
	definition []byte
	content    []byte
	encoding   int64
	stored     int // bytes
}

// split returns the parts of a page of values.
func (p *pageReader) split(header object, stored []byte) (x page, err error) {
	size := integer(header, 2)
	x.stored = len(stored)
	info := sub(header, 5)
	if integer(header, 1) == pageDataV2 {
		info = sub(header, 8)
		repetition, definition := integer(info, 6), integer(info, 5)
		if repetition < 0 || definition < 0 || repetition > int64(len(stored)) || definition > int64(len(stored))-repetition {
			return x, fmt.Errorf("levels of %d bytes in a page of %d: %w", definition, len(stored), errThrift)
		}
		levels := repetition + definition
		x.encoding, x.repetition, x.definition, x.content = integer(info, 4), stored[:repetition], stored[repetition:levels], stored[levels:]
		if compressed, ok := info[7].(bool); !ok || compressed {
			x.content, err = p.decompress(x.content, p.left.codec, size-levels)
		}
	} else {
		x.encoding = integer(info, 2)
		if x.content, err = p.decompress(stored, p.left.codec, size); err == nil && p.leaf.repetition > 0 {
			x.repetition, x.content, err = levelsOf(x.content)
		}
		if err == nil && p.leaf.definition > 0 {
			x.definition, x.content, err = levelsOf(x.content)
		}
	}
	if x.n = integer(info, 1); err == nil && (x.n <= 0 || x.n > min(p.left.values, math.MaxInt32)) {
		err = fmt.Errorf("a page of %d values for %d rows: %w", x.n, p.left.values, errThrift)
	}
	return x, err
}

// levelsOf returns levels, before which their size is, and what follows them.
func levelsOf(content []byte) (levels, rest []byte, err error) {
	if len(content) < 4 || uint64(binary.LittleEndian.Uint32(content)) > uint64(len(content)-4) {
		return nil, nil, fmt.Errorf("levels in a page of %d bytes: %w", len(content), errThrift)
	}
	n := binary.LittleEndian.Uint32(content)
	return content[4 : 4+n], content[4+n:], nil
}

// decode appends the values of a page.
func (p *pageReader) decode(d *column.Values, x page) error {
	const value = 8 // bytes, at most, but for texts; runs of one value take next to nothing in the file
	if err := p.in.Budget.Allocate(value*int(x.n), x.stored); err != nil {
		return err
	}
	if p.leaf.definition == 0 && p.leaf.repetition == 0 {
		return p.encoded(d, x, x.n)
	}
	definition, err := hybrid(x.definition, widthOf(p.leaf.definition), int(x.n))
	if err != nil {
		return err
	}
	count := int64(0)
	for _, level := range definition {
		if level == uint32(p.leaf.definition) {
			count++
		}
	}
	if p.leaf.repetition == 0 && count == x.n {
		return p.encoded(d, x, x.n)
	}
	var repetition []uint32
	if p.leaf.repetition > 0 {
		if repetition, err = hybrid(x.repetition, widthOf(p.leaf.repetition), int(x.n)); err != nil {
			return err
		}
	}
	values := &column.Values{}
	if err := p.encoded(values, x, count); err != nil {
		return err
	}
	return p.spread(d, values, definition, repetition)
}

// spread appends values where they are present, what stands for missing ones elsewhere, and the
// lengths of lists that end.
func (p *pageReader) spread(d, values *column.Values, definition, repetition []uint32) error {
	at := 0
	for i, level := range definition {
		if repetition != nil && !p.list.add(d, int(level)-p.listed, repetition[i] == 0) {
			return fmt.Errorf("a list of levels %d and %d: %w", repetition[i], level, errThrift)
		}
		switch {
		case level > uint32(p.leaf.definition):
			return fmt.Errorf("a level of %d, of at most %d: %w", level, p.leaf.definition, errThrift)
		case level == uint32(p.leaf.definition):
			p.kind.Append(d, values, at)
			at++
		case repetition == nil || int(level) >= p.listed:
			p.kind.AppendMissing(d)
		}
	}
	return nil
}

// add counts an element of a list, which is there if its level is not negative; at -1 the list is
// empty, and below missing. It reports whether that may be.
func (l *openList) add(d *column.Values, level int, first bool) bool {
	if first {
		if l.open {
			d.Lists = append(d.Lists, l.length)
		}
		l.open, l.length = true, 0
		if level < -1 {
			l.length = column.MissingList
		}
		if level < 0 {
			return true
		}
	}
	if !l.open || l.length < 0 || level < 0 {
		return false
	}
	l.length++
	return true
}
