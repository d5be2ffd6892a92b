package arrow

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
)

// A columnReader decodes a column.
type columnReader struct {
	*file
	field
	path  string // the names of the fields around it and its own
	sizes []int  // of the lists of a fixed size around the values, or around the elements of lists
	list  bool   // lists of other sizes are around these
	parts []part
}

// A part is the rows of a column in a record batch, or values of a dictionary.
type part struct {
	rows       int // or elements of lists of a fixed size
	nulls      int64
	masks      []mask   // of the fields around it of which some are null
	lists      *lists   // or nil
	buffers    []extent // bits of what is not null; elements, offsets, indices or views; bytes of strings
	codec      int64
	dictionary *dictionary
}

// plain reports whether the elements are stored as they are.
func (p part) plain() bool { return p.nulls == 0 && len(p.masks) == 0 && p.codec == uncompressed }

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
		if p.lists != nil {
			stored += int(p.lists.offsets.size)
		}
	}
	return stored
}

// start returns a function that appends the next values, and at the end returns io.EOF.
func (c *columnReader) start() func(*column.Values) error { return c.startParts(c.parts, &lookup{}) }

// startParts is start for some parts, after the dictionary last.
func (c *columnReader) startParts(left []part, last *lookup) func(*column.Values) error {
	var r *partReader
	return func(d *column.Values) error {
		for r == nil || r.left() == 0 {
			if len(left) == 0 {
				return io.EOF
			}
			r, left = c.read(left[0]), left[1:]
			if !c.index.Valid() || r.rows == 0 {
				continue
			}
			if r.dictionary == nil && r.nulls < int64(r.rows) {
				return fmt.Errorf("dictionary %d is missing: %w", c.id, storage.ErrState)
			}
			if err := c.load(last, r.dictionary); err != nil {
				return err
			}
		}
		if err := c.in.Err(); err != nil {
			return err
		}
		if c.index.Valid() {
			return r.lookUp(d, last)
		}
		return r.values(d)
	}
}

const (
	rowsAtOnce = 1 << 15 // rows of a part that are decoded at once, a multiple of 8
	textAtOnce = 1 << 20 // bytes of strings, about
)

// A partReader decodes a part from its first row to the last.
type partReader struct {
	*columnReader
	part
	row, step int // the next row, and how many are decoded at once

	bits     *bufferReader // validity bitmap: 1 for values, 0 for nulls; nil if there are no nulls
	masks    []*maskReader
	elements *bufferReader // or indices, offsets, views, bits of bools
	content  *bufferReader // of strings between offsets
	end      uint64        // offset of the next string
	views    viewReader

	valid, block []byte // of the rows that are being decoded
}

func (c *columnReader) read(p part) *partReader {
	return &partReader{columnReader: c, part: p, step: rowsAtOnce}
}

func (r *partReader) left() int { return r.rows - r.row }

// next reads the elements of the next rows, bits bits each, and returns the number of rows.
func (r *partReader) next(bits int) (n int, err error) {
	if r.row == 0 {
		if r.nulls > 0 {
			r.bits, err = r.open(r.part, 0, (r.rows+7)/8)
		}
		if err == nil {
			r.masks, err = r.openMasks(r.part, r.part.masks)
		}
		if err == nil && r.elements == nil {
			r.elements, err = r.open(r.part, 1, (r.rows*bits+7)/8)
		}
		if err != nil {
			return 0, err
		}
	}
	n = min(r.step, r.left())
	if r.bits != nil {
		if r.valid, err = r.bits.read(r.valid, (n+7)/8); err != nil {
			return 0, err
		}
	}
	if len(r.masks) > 0 {
		if err := r.maskRows(n); err != nil {
			return 0, err
		}
	}
	r.block, err = r.elements.read(r.block, (n*bits+7)/8)
	r.row += n
	return n, err
}

// check returns an error if the buffers do not end after the last row.
func (r *partReader) check() error {
	for _, b := range []*bufferReader{r.bits, r.elements, r.content} {
		if b != nil && r.left() == 0 {
			if err := b.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// isNull reports whether one of the rows that are being decoded is null.
func (r *partReader) isNull(i int) bool {
	return (r.bits != nil || r.masks != nil) && r.valid[i/8]>>(i%8)&1 == 0
}

// each calls use with each of n rows that is not null, and appends what stands for the others.
func (r *partReader) each(d *column.Values, n int, use func(i int) error) error {
	for i := range n {
		if r.isNull(i) {
			r.kind.AppendMissing(d)
		} else if err := use(i); err != nil {
			return err
		}
	}
	return r.check()
}

// values appends the values of the next rows.
func (r *partReader) values(d *column.Values) error {
	switch {
	case r.null:
		return r.nothing(d)
	case r.stringViews:
		return r.viewedTexts(d)
	case r.decimal > 0:
		return r.decimals(d)
	case !r.kind.Type.Valid():
		return r.textsBetweenOffsets(d)
	case r.kind.Type == dtype.Bool:
		n, err := r.next(1)
		if err != nil {
			return err
		}
		return r.each(d, n, func(i int) error {
			d.Numbers = append(d.Numbers, r.block[i/8]>>(i%8)&1)
			return nil
		})
	}
	n, err := r.next(8 * r.stores.Size())
	if err != nil {
		return err
	}
	serialize.NormalizeBytes(r.block, r.stores, binary.LittleEndian)
	all := &column.Values{Numbers: r.block}
	if r.stores != r.kind.Type { // days, and times of the day
		all.Numbers = make([]byte, n*r.kind.Type.Size())
		if err := dtype.Convert(all.Numbers, r.kind.Type, r.block, r.stores); err != nil {
			return err
		}
	}
	if r.bits == nil && r.masks == nil {
		d.Numbers = append(d.Numbers, all.Numbers...)
		return r.check()
	}
	return r.each(d, n, func(i int) error {
		r.kind.Append(d, all, i)
		return nil
	})
}

// nothing appends what stands for missing values.
func (r *partReader) nothing(d *column.Values) error {
	n := min(r.step, r.left())
	r.row += n
	for range n {
		r.kind.AppendMissing(d)
	}
	return nil
}

// decimals appends decimal numbers as strings, which lose nothing.
func (r *partReader) decimals(d *column.Values) error {
	size := r.decimal
	n, err := r.next(8 * size)
	if err != nil {
		return err
	}
	return r.each(d, n, func(i int) error {
		d.Texts = append(d.Texts, column.DecimalLittleEndian(r.block[i*size:][:size], r.scale))
		return nil
	})
}

// textsBetweenOffsets appends strings, which are between offsets.
func (r *partReader) textsBetweenOffsets(d *column.Values) (err error) {
	offset := func(b []byte) uint64 {
		if r.offsets == 4 {
			return uint64(binary.LittleEndian.Uint32(b))
		}
		return binary.LittleEndian.Uint64(b)
	}
	if r.row == 0 {
		if r.content, err = r.open(r.part, 2, -1); err != nil {
			return err
		}
		if r.elements, err = r.open(r.part, 1, (r.rows+1)*r.offsets); err != nil {
			return err
		}
		first, err := r.elements.read(nil, r.offsets)
		if err != nil {
			return err
		}
		if r.end = offset(first); r.end > uint64(r.content.size) {
			return fmt.Errorf("a string from byte %d of %d: %w", r.end, r.content.size, storage.ErrState)
		}
		if err := r.content.skip(int64(r.end)); err != nil {
			return err
		}
		r.step = stepOf(r.rows, r.content.size)
	}
	n, err := r.next(8 * r.offsets)
	if err != nil {
		return err
	}
	base, start := r.end, r.end
	r.end = offset(r.block[(n-1)*r.offsets:])
	if r.end < base || r.end > uint64(r.content.size) {
		return fmt.Errorf("a string from byte %d to %d of %d: %w", base, r.end, r.content.size, storage.ErrState)
	}
	all, err := r.content.text(int(r.end - base)) // the strings share its memory
	if err != nil {
		return err
	}
	for i := range n {
		end := offset(r.block[i*r.offsets:])
		if start > end || end > r.end {
			return fmt.Errorf("a string from byte %d to %d of %d: %w", start, end, r.content.size, storage.ErrState)
		}
		if r.isNull(i) {
			r.kind.AppendMissing(d)
		} else {
			d.Texts = append(d.Texts, all[start-base:end-base])
		}
		start = end
	}
	return r.check()
}

// stepOf returns how many rows of strings are decoded at once, by the mean of their bytes.
func stepOf(rows int, size int64) int {
	step := rowsAtOnce
	for step > 8 && int64(step)*(size/int64(rows)) > textAtOnce {
		step /= 2
	}
	return step
}

// A lookup is the values of the dictionary that was used last.
type lookup struct {
	dictionary *dictionary
	column.Values
}

// lookUp appends the values of a dictionary that the indices of the next rows select.
func (r *partReader) lookUp(d *column.Values, last *lookup) error {
	width := r.index.Size()
	rows, err := r.next(8 * width)
	if err != nil {
		return err
	}
	n := r.kind.Len(&last.Values)
	return r.each(d, rows, func(i int) error {
		var index uint64 // a negative one is too large
		switch b := r.block[i*width:]; width {
		case 1:
			index = uint64(b[0])
		case 2:
			index = uint64(binary.LittleEndian.Uint16(b))
		case 4:
			index = uint64(binary.LittleEndian.Uint32(b))
		default:
			index = binary.LittleEndian.Uint64(b)
		}
		if index >= uint64(n) || r.index.IsSigned() && index>>(8*width-1) != 0 {
			return fmt.Errorf("value %d of a dictionary of %d: %w", index, n, storage.ErrState)
		}
		r.kind.Append(d, &last.Values, int(index))
		return nil
	})
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
		var err error
		for r := c.read(d.part); err == nil && r.left() > 0; {
			err = r.values(&last.Values)
		}
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
