package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"weak"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A column is a Source that is decoded as a whole. The result is kept for the next read
// until the garbage collector needs the memory.
type column struct {
	*file
	field
	rows  int
	parts []part
	kept  atomic.Pointer[weak.Pointer[decoded]]
}

// A part is the rows of a column in a record batch, or values of a dictionary.
type part struct {
	rows       int
	nulls      int64
	buffers    [3]extent // bits of what is not null; elements, offsets or indices; bytes of strings
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

// A decoded column has numbers as bytes, or strings.
type decoded struct {
	b     []byte
	texts []string
}

func (c *column) Len() int               { return c.rows * c.typ.Size() }
func (c *column) Device() storage.Device { return storage.File(c.in.Name) }

func (c *column) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if t != c.typ || !v.Within(c.rows) || len(dst) < v.Len()*t.Size() {
		return fmt.Errorf("%s: %v%v of %d rows of %v: %w", c.in.Name, t, v.Shape, c.rows, c.typ, views.ErrShape)
	}
	d, err := c.decode()
	if err != nil {
		return fmt.Errorf("%s: %w", c.in.Name, err)
	}
	storage.Gather(dst, d.b, t, v)
	return nil
}

// strings returns strings.
func (c *column) strings(v views.View) ([]any, error) {
	if !v.Within(c.rows) {
		return nil, fmt.Errorf("%v of %d rows: %w", v.Shape, c.rows, views.ErrShape)
	}
	d, err := c.decode()
	if err != nil {
		return nil, err
	}
	list := make([]any, 0, v.Len())
	for at := range v.Positions() {
		list = append(list, d.texts[at])
	}
	return list, nil
}

func (c *column) decode() (*decoded, error) {
	if err := c.sections.Check(); err != nil {
		return nil, err
	}
	if kept := c.kept.Load(); kept != nil {
		if d := kept.Value(); d != nil {
			return d, nil
		}
	}
	stored := 0
	for _, p := range c.parts {
		for _, b := range p.buffers {
			stored += int(b.size)
		}
	}
	if err := c.in.Budget.Make(c.rows*max(16, c.typ.Size()), stored); err != nil {
		return nil, err
	}
	d, last := &decoded{}, &lookup{}
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
	kept := weak.Make(d)
	c.kept.Store(&kept)
	return d, nil
}

// valid returns the bits of the rows that are not null, or nil if none is.
func (c *column) valid(p part) ([]byte, error) {
	if p.nulls == 0 {
		return nil, nil
	}
	if !c.typ.IsFloat() && c.typ.Valid() {
		return nil, fmt.Errorf("values of type %v are missing, for which there is no number; fill them or save floats: %w", c.typ, storage.ErrState)
	}
	return c.content(p, 0, (p.rows+7)/8)
}

func isNull(valid []byte, row int) bool { return valid != nil && valid[row/8]>>(row%8)&1 == 0 }

// missing appends what stands for a null: missing numbers are NaN, and missing strings are
// empty.
func (c *column) missing(d *decoded) {
	switch c.typ {
	case dtype.Float16:
		d.b = binary.NativeEndian.AppendUint16(d.b, 0x7e00)
	case dtype.Float32:
		d.b = binary.NativeEndian.AppendUint32(d.b, math.Float32bits(float32(math.NaN())))
	case dtype.Float64:
		d.b = binary.NativeEndian.AppendUint64(d.b, math.Float64bits(math.NaN()))
	default:
		d.texts = append(d.texts, "")
	}
}

// values appends the values of a part.
func (c *column) values(d *decoded, p part) error {
	valid, err := c.valid(p)
	if err != nil || p.rows == 0 {
		return err
	}
	if !c.typ.Valid() {
		return c.texts(d, p, valid)
	}
	if c.typ == dtype.Bool {
		bits, err := c.content(p, 1, (p.rows+7)/8)
		if err != nil {
			return err
		}
		for i := range p.rows {
			d.b = append(d.b, bits[i/8]>>(i%8)&1)
		}
		return nil
	}
	size := c.typ.Size()
	elements, err := c.content(p, 1, p.rows*size)
	if err != nil {
		return err
	}
	if elements, err = native(elements, c.typ); err != nil {
		return err
	}
	if valid == nil {
		d.b = append(d.b, elements...)
		return nil
	}
	for i := range p.rows {
		if isNull(valid, i) {
			c.missing(d)
		} else {
			d.b = append(d.b, elements[i*size:][:size]...)
		}
	}
	return nil
}

// native returns little-endian elements in the byte order of the machine.
func native(elements []byte, t dtype.Type) ([]byte, error) {
	source := serialize.AsSource(storage.Wrap(elements))
	if ordered := serialize.Normalize(source, t, binary.LittleEndian); ordered != source {
		b := make([]byte, len(elements))
		return b, ordered.ReadView(b, t, views.Of(len(b)/t.Size()))
	}
	return elements, nil
}

// texts appends strings, which are between offsets.
func (c *column) texts(d *decoded, p part, valid []byte) error {
	offsets, err := c.content(p, 1, (p.rows+1)*c.offsets)
	if err != nil {
		return err
	}
	b, err := c.content(p, 2, -1)
	if err != nil {
		return err
	}
	offset := func(i int) uint64 {
		if c.offsets == 4 {
			return uint64(binary.LittleEndian.Uint32(offsets[4*i:]))
		}
		return binary.LittleEndian.Uint64(offsets[8*i:])
	}
	start := offset(0)
	for i := range p.rows {
		end := offset(i + 1)
		if start > end || end > uint64(len(b)) {
			return fmt.Errorf("a string from byte %d to %d of %d: %w", start, end, len(b), storage.ErrState)
		}
		if isNull(valid, i) {
			c.missing(d)
		} else {
			d.texts = append(d.texts, string(b[start:end]))
		}
		start = end
	}
	return nil
}

// A lookup is the values of the dictionary that was used last.
type lookup struct {
	dictionary *dictionary
	decoded
}

// lookUp appends the values of a dictionary that indices select.
func (c *column) lookUp(d *decoded, p part, last *lookup) error {
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
	size := c.typ.Size()
	n := len(last.texts)
	if c.typ.Valid() {
		n = len(last.b) / size
	}
	for i := range p.rows {
		if isNull(valid, i) {
			c.missing(d)
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
		switch {
		case index >= uint64(n) || c.index.IsSigned() && index>>(8*width-1) != 0:
			return fmt.Errorf("value %d of a dictionary of %d: %w", index, n, storage.ErrState)
		case c.typ.Valid():
			d.b = append(d.b, last.b[int(index)*size:][:size]...)
		default:
			d.texts = append(d.texts, last.texts[index])
		}
	}
	return nil
}

// load decodes a dictionary, or what it adds to the last one.
func (c *column) load(last *lookup, want *dictionary) error {
	var missing []*dictionary
	for d := want; d != last.dictionary; d = d.before {
		if d == nil { // the last one is not among those before
			*last = lookup{}
			break
		}
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		if err := c.values(&last.decoded, d.part); err != nil {
			return fmt.Errorf("dictionary %d: %w", c.id, err)
		}
		last.dictionary = d
	}
	return nil
}

// Compressions of buffers.
const uncompressed, lz4Frame, zstdFrame = -1, 0, 1

// content returns the first n bytes of a buffer, or all of them if n is negative.
func (c *column) content(p part, i, n int) ([]byte, error) {
	from := p.buffers[i]
	b := make([]byte, from.size)
	if err := readAt(c.in, b, from.at); err != nil {
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
func (c *column) decompress(b []byte, codec int64) ([]byte, error) {
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
	if err := c.in.Budget.Make(int(size), len(b)); err != nil {
		return nil, err
	}
	var r io.Reader
	switch codec {
	case lz4Frame:
		r = lz4.NewReader(bytes.NewReader(b))
	case zstdFrame:
		decoder, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		defer decoder.Close()
		r = decoder
	default:
		return nil, fmt.Errorf("compression %d, which is not read; known are LZ4 and Zstandard: %w", codec, dtype.ErrType)
	}
	out, err := io.ReadAll(io.LimitReader(r, min(size, math.MaxInt64-1)+1))
	if err == nil && int64(len(out)) != size {
		err = fmt.Errorf("a buffer of %d bytes instead of %d: %w", len(out), size, storage.ErrState)
	}
	return out, err
}
