package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/pierrec/lz4/v4"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
)

// A columnReader decodes a column.
type columnReader struct {
	*file
	field
	rows  int
	parts []part
}

// A part is the rows of a column in a record batch, or values of a dictionary.
type part struct {
	rows       int
	nulls      int64
	buffers    []extent // bits of what is not null; elements, offsets, indices or views; bytes of strings
	codec      int64
	dictionary *dictionary
}

// plain reports whether the elements are stored as they are.
func (p part) plain() bool { return p.nulls == 0 && p.codec == uncompressed }

// An extent is bytes of the file.
type extent struct{ at, size int64 }

// A dictionary is values that the rows of a column refer to. Values may be added to those
// of the dictionary before.
type dictionary struct {
	before *dictionary // may be nil
	part   part
}

// stored returns the number of bytes of the buffers.
func (c *columnReader) stored() int {
	stored := 0
	for _, p := range c.parts {
		for _, b := range p.buffers {
			stored += int(b.size)
		}
	}
	return stored
}

func (c *columnReader) decode() (*column.Values, error) {
	d, last := &column.Values{}, &lookup{}
	for _, p := range c.parts {
		if err := c.in.Err(); err != nil {
			return nil, err
		}
		var err error
		if c.index.Valid() {
			err = c.lookUp(d, p, last)
		} else {
			err = c.values(d, p)
		}
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// valid returns the bits of the rows that are not null, or nil if none is.
func (c *columnReader) valid(p part) ([]byte, error) {
	if p.nulls == 0 {
		return nil, nil
	}
	return c.content(p, 0, (p.rows+7)/8)
}

func isNull(valid []byte, row int) bool { return valid != nil && valid[row/8]>>(row%8)&1 == 0 }

// values appends the values of a part.
func (c *columnReader) values(d *column.Values, p part) error {
	valid, err := c.valid(p)
	if err != nil || p.rows == 0 {
		return err
	}
	switch {
	case c.stringViews:
		return c.viewedTexts(d, p, valid)
	case !c.kind.Type.Valid():
		return c.texts(d, p, valid)
	case c.kind.Type == dtype.Bool:
		bits, err := c.content(p, 1, (p.rows+7)/8)
		if err != nil {
			return err
		}
		for i := range p.rows {
			d.Numbers = append(d.Numbers, bits[i/8]>>(i%8)&1)
		}
		return nil
	}
	elements, err := c.content(p, 1, p.rows*c.stores.Size())
	if err != nil {
		return err
	}
	serialize.NormalizeBytes(elements, c.stores, binary.LittleEndian)
	if c.stores != c.kind.Type { // days, and times of the day
		wide := make([]byte, p.rows*c.kind.Type.Size())
		if err := dtype.Convert(wide, c.kind.Type, elements, c.stores); err != nil {
			return err
		}
		elements = wide
	}
	if valid == nil {
		d.Numbers = append(d.Numbers, elements...)
		return nil
	}
	all := &column.Values{Numbers: elements}
	for i := range p.rows {
		if isNull(valid, i) {
			c.kind.AppendMissing(d)
		} else {
			c.kind.Append(d, all, i)
		}
	}
	return nil
}

// texts appends strings, which are between offsets.
func (c *columnReader) texts(d *column.Values, p part, valid []byte) error {
	offsets, err := c.content(p, 1, (p.rows+1)*c.offsets)
	if err != nil {
		return err
	}
	b, err := c.content(p, 2, -1)
	if err != nil {
		return err
	}
	all := string(b) // the strings share its memory
	offset := func(i int) uint64 {
		if c.offsets == 4 {
			return uint64(binary.LittleEndian.Uint32(offsets[4*i:]))
		}
		return binary.LittleEndian.Uint64(offsets[8*i:])
	}
	start := offset(0)
	for i := range p.rows {
		end := offset(i + 1)
		if start > end || end > uint64(len(all)) {
			return fmt.Errorf("a string from byte %d to %d of %d: %w", start, end, len(all), storage.ErrState)
		}
		if isNull(valid, i) {
			c.kind.AppendMissing(d)
		} else {
			d.Texts = append(d.Texts, all[start:end])
		}
		start = end
	}
	return nil
}

// viewedTexts appends strings that have views of 16 bytes:
//
//	int32 length, up to 12 bytes of the string, or its first 4, int32 buffer, int32 offset
func (c *columnReader) viewedTexts(d *column.Values, p part, valid []byte) error {
	const size, inline = 16, 12
	views, err := c.content(p, 1, p.rows*size)
	if err != nil {
		return err
	}
	buffers := make([]string, len(p.buffers)-2) // the strings share their memory
	stored, total := len(views), 0
	for i := range buffers {
		b, err := c.content(p, 2+i, -1)
		if err != nil {
			return err
		}
		buffers[i] = string(b)
		stored += len(b)
	}
	for i := range p.rows {
		if isNull(valid, i) {
			c.kind.AppendMissing(d)
			continue
		}
		view := views[i*size : (i+1)*size]
		length := binary.LittleEndian.Uint32(view)
		if length <= inline {
			d.Texts = append(d.Texts, string(view[4:4+length]))
			continue
		}
		buffer, start := binary.LittleEndian.Uint32(view[8:]), uint64(binary.LittleEndian.Uint32(view[12:]))
		if int64(buffer) >= int64(len(buffers)) || start+uint64(length) > uint64(len(buffers[buffer])) {
			return fmt.Errorf("a string of %d bytes from byte %d of buffer %d, of %d: %w", length, start, buffer, len(buffers), storage.ErrState)
		}
		d.Texts = append(d.Texts, buffers[buffer][start:start+uint64(length)])
		total += int(length)
	}
	return c.in.Budget.Make(total, stored) // many views may select one string
}

// A lookup is the values of the dictionary that was used last.
type lookup struct {
	dictionary *dictionary
	column.Values
}

// lookUp appends the values of a dictionary that indices select.
func (c *columnReader) lookUp(d *column.Values, p part, last *lookup) error {
	valid, err := c.valid(p)
	if err != nil || p.rows == 0 {
		return err
	}
	width := c.index.Size()
	indices, err := c.content(p, 1, p.rows*width)
	if err != nil {
		return err
	}
	if p.dictionary == nil && p.nulls < int64(p.rows) {
		return fmt.Errorf("dictionary %d is missing: %w", c.id, storage.ErrState)
	}
	if err := c.load(last, p.dictionary); err != nil {
		return err
	}
	n := c.kind.Len(&last.Values)
	for i := range p.rows {
		if isNull(valid, i) {
			c.kind.AppendMissing(d)
			continue
		}
		var index uint64 // a negative one is too large
		switch b := indices[i*width:]; {
		case width == 1:
			index = uint64(b[0])
		case width == 2:
			index = uint64(binary.LittleEndian.Uint16(b))
		case width == 4:
			index = uint64(binary.LittleEndian.Uint32(b))
		default:
			index = binary.LittleEndian.Uint64(b)
		}
		if index >= uint64(n) || c.index.IsSigned() && index>>(8*width-1) != 0 {
			return fmt.Errorf("value %d of a dictionary of %d: %w", index, n, storage.ErrState)
		}
		c.kind.Append(d, &last.Values, int(index))
	}
	return nil
}

// load decodes a dictionary, or what it adds to the last one.
func (c *columnReader) load(last *lookup, want *dictionary) error {
	var missing []*dictionary
	for d := want; d != last.dictionary; d = d.before {
		if d == nil { // the last one is not among those before
			*last = lookup{}
			break
		}
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		err := c.values(&last.Values, d.part)
		if err == nil && len(last.Missing) > 0 {
			err = fmt.Errorf("a missing value of type %v: %w", c.kind.Type, dtype.ErrType)
		}
		if err != nil {
			return fmt.Errorf("dictionary %d: %w", c.id, err)
		}
		last.dictionary = d
	}
	return nil
}

// Compressions of buffers.
const uncompressed, lz4Frame, zstdFrame = -1, 0, 1

// content returns the first n bytes of a buffer, or all of them if n is negative.
func (c *columnReader) content(p part, i, n int) ([]byte, error) {
	from := p.buffers[i]
	b := make([]byte, from.size)
	if err := c.in.ReadFull(b, from.at); err != nil {
		return nil, err
	}
	if p.codec != uncompressed && len(b) > 0 {
		var err error
		if b, err = c.decompress(b, p.codec); err != nil {
			return nil, err
		}
	}
	if n < 0 {
		return b, nil
	}
	if n > len(b) {
		return nil, fmt.Errorf("%d rows in a buffer of %d bytes: %w", p.rows, len(b), storage.ErrState)
	}
	return b[:n], nil
}

// decompress returns the bytes of a compressed buffer:
//
//	int64 size (-1 if what follows is not compressed), frame
func (c *columnReader) decompress(b []byte, codec int64) ([]byte, error) {
	if len(b) < 8 {
		return nil, fmt.Errorf("a compressed buffer of %d bytes: %w", len(b), storage.ErrState)
	}
	size := int64(binary.LittleEndian.Uint64(b))
	b = b[8:]
	if size == -1 {
		return b, nil
	}
	if size < 0 {
		return nil, fmt.Errorf("a buffer of %d bytes: %w", size, storage.ErrState)
	}
	if err := c.in.Budget.Allocate(int(size), len(b)); err != nil {
		return nil, err
	}
	if err := c.in.Budget.Make(int(size), len(b)); err != nil {
		return nil, err
	}
	var r io.Reader
	switch codec {
	case lz4Frame:
		r = lz4.NewReader(bytes.NewReader(b))
	case zstdFrame:
		return column.DecodeZstd(b, int(size))
	default:
		return nil, fmt.Errorf("compression %d, which is not read; known are LZ4 and Zstandard: %w", codec, dtype.ErrType)
	}
	out, err := io.ReadAll(io.LimitReader(r, min(size, math.MaxInt64-1)+1))
	if err == nil && int64(len(out)) != size {
		err = fmt.Errorf("a buffer of %d bytes instead of %d: %w", len(out), size, storage.ErrState)
	}
	return out, err
}
