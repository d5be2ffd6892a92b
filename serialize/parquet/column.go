package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
)

// A columnReader decodes a column.
type columnReader struct {
	*file
	leaf
	physical int64
	kind     column.Kind
	decimal  *decimal // nil for other elements
	chunks   []chunk
	stored   int // bytes
	values   int // and levels without one
}

// start returns a function that appends the values of the next page. At the end it returns io.EOF.
func (c *columnReader) start() func(*column.Values) error {
	p := &pageReader{columnReader: c, chunks: c.chunks}
	return p.next
}

// Encodings of values.
const (
	plain, plainDictionary, rle, bitPacked, deltaPacked, deltaLengths, deltaBytes, rleDictionary, byteStreamSplit = 0, 2, 3, 4, 5, 6, 7, 8, 9
)

var encodingNames = map[int64]string{bitPacked: "BIT_PACKED", deltaPacked: "DELTA_BINARY_PACKED", deltaLengths: "DELTA_LENGTH_BYTE_ARRAY", deltaBytes: "DELTA_BYTE_ARRAY", byteStreamSplit: "BYTE_STREAM_SPLIT"}

// sizes are those of the elements of physical types in PLAIN.
var sizes = map[int64]int{physicalInt32: 4, physicalInt64: 8, physicalInt96: 12, physicalFloat: 4, physicalDouble: 8, physicalFixed: 2}

// encoded appends n values.
func (p *pageReader) encoded(d *column.Values, x page, n int64) error {
	c, content, encoding := p.columnReader, x.content, x.encoding
	switch {
	case encoding == plain:
		return c.plain(d, content, n)
	case encoding == plainDictionary || encoding == rleDictionary:
		if n == 0 {
			return nil
		}
		if p.dictionary == nil || len(content) == 0 || content[0] > 32 {
			return fmt.Errorf("values of a dictionary that is missing: %w", errThrift)
		}
		indices, err := hybrid(content[1:], int(content[0]), int(n))
		if err != nil {
			return err
		}
		return c.lookUp(d, p.dictionary, indices)
	case c.decimal != nil && encoding != deltaPacked:
	case encoding == rle:
		if c.physical == physicalBool && len(content) >= 4 {
			bits, err := hybrid(content[4:], 1, int(n))
			for _, bit := range bits {
				d.Numbers = append(d.Numbers, byte(bit))
			}
			return err
		}
	case encoding == deltaPacked:
		if c.physical == physicalInt32 || c.physical == physicalInt64 {
			list, _, err := deltas(content, n)
			for _, x := range list {
				c.integer(d, x)
			}
			return err
		}
	case encoding == deltaLengths:
		if c.physical == physicalBytes {
			list, err := lengths(content, n)
			d.Texts = append(d.Texts, list...)
			return err
		}
	case encoding == deltaBytes:
		if c.physical == physicalBytes {
			return c.prefixed(d, content, n)
		}
	case encoding == byteStreamSplit:
		if size := sizes[c.physical]; size > 0 {
			elements, err := split(content, size, n)
			if err != nil {
				return err
			}
			return c.plain(d, elements, n)
		}
	}
	name := encodingNames[encoding]
	if name == "" {
		name = fmt.Sprint(encoding)
	}
	return fmt.Errorf("values in encoding %s of %s, which is not read: %w", name, physicalNames[c.physical], dtype.ErrType)
}

// integer appends the lowest bits of an integer, as many as the elements have; int32 are
// extended for days, times of the day, and decimals.
func (c *columnReader) integer(d *column.Values, x uint64) {
	if c.decimal != nil {
		if c.physical == physicalInt32 {
			x = uint64(int32(x))
		}
		d.Texts = append(d.Texts, column.Decimal(binary.BigEndian.AppendUint64(nil, x), c.decimal.scale))
		return
	}
	switch c.kind.Type.Size() {
	case 1:
		d.Numbers = append(d.Numbers, byte(x))
	case 2:
		d.Numbers = binary.NativeEndian.AppendUint16(d.Numbers, uint16(x))
	case 4:
		d.Numbers = binary.NativeEndian.AppendUint32(d.Numbers, uint32(x))
	default:
		if c.physical == physicalInt32 {
			x = uint64(int32(x))
		}
		d.Numbers = binary.NativeEndian.AppendUint64(d.Numbers, x)
	}
}

// lookUp appends the values of a dictionary that indices select.
func (c *columnReader) lookUp(d, dictionary *column.Values, indices []uint32) error {
	n := c.kind.Len(dictionary)
	for _, i := range indices {
		if int64(i) >= int64(n) {
			return fmt.Errorf("value %d of a dictionary of %d: %w", i, n, errThrift)
		}
		c.kind.Append(d, dictionary, int(i))
	}
	return nil
}

// plain appends n values as they are stored: little-endian, bools as bits, and texts with
// their length before them.
func (c *columnReader) plain(d *column.Values, content []byte, n int64) error {
	short := func() error { return fmt.Errorf("%d values in %d bytes: %w", n, len(content), errThrift) }
	le := binary.LittleEndian
	if c.decimal != nil {
		return c.decimals(d, content, n)
	}
	if size := int64(sizes[c.physical]); n < 0 || size > 0 && n > int64(len(content))/size {
		return short()
	}
	switch c.physical {
	case physicalBool:
		if n > 8*int64(len(content)) {
			return short()
		}
		for i := range n {
			d.Numbers = append(d.Numbers, content[i/8]>>(i%8)&1)
		}
	case physicalInt32, physicalFloat:
		d.Numbers = slices.Grow(d.Numbers, int(n)*c.kind.Type.Size())
		for ; n > 0; n-- {
			c.integer(d, uint64(le.Uint32(content)))
			content = content[4:]
		}
	case physicalInt64, physicalDouble:
		if c.kind.Type.Size() != 8 {
			return short()
		}
		d.Numbers = slices.Grow(d.Numbers, int(n)*8)
		for ; n > 0; n-- {
			d.Numbers = binary.NativeEndian.AppendUint64(d.Numbers, le.Uint64(content))
			content = content[8:]
		}
	case physicalFixed: // float16
		for ; n > 0; n-- {
			d.Numbers = binary.NativeEndian.AppendUint16(d.Numbers, le.Uint16(content))
			content = content[2:]
		}
	case physicalInt96:
		return oldTimes(d, content, n)
	default:
		if !plainTexts(d, content, n) {
			return short()
		}
	}
	return nil
}

// oldTimes appends n times, which are nanoseconds of a day, and the Julian day.
func oldTimes(d *column.Values, content []byte, n int64) error {
	const epoch, daily = 2440588, 86400_000_000_000 // 1970-01-01, nanoseconds
	le := binary.LittleEndian
	for ; n > 0; n-- {
		day, of := int64(le.Uint32(content[8:]))-epoch, int64(le.Uint64(content))
		if day < math.MinInt64/daily || day >= math.MaxInt64/daily || of < 0 || of >= daily {
			return fmt.Errorf("nanosecond %d of day %d since 1970, which is not a time of 64 bits: %w", of, day, dtype.ErrType)
		}
		d.Numbers = binary.NativeEndian.AppendUint64(d.Numbers, uint64(day*daily+of))
		content = content[12:]
	}
	return nil
}

// plainTexts appends n texts, and reports whether there are as many.
func plainTexts(d *column.Values, content []byte, n int64) bool {
	all := string(content) // the texts share its memory
	for ; n > 0; n-- {
		if len(content) < 4 || uint64(binary.LittleEndian.Uint32(content)) > uint64(len(content)-4) {
			return false
		}
		end := 4 + binary.LittleEndian.Uint32(content)
		d.Texts = append(d.Texts, all[4:end])
		content, all = content[end:], all[end:]
	}
	return true
}

// decimals appends n decimals as strings: little-endian integers, or big-endian bytes.
func (c *columnReader) decimals(d *column.Values, content []byte, n int64) error {
	short := fmt.Errorf("%d decimals in %d bytes: %w", n, len(content), errThrift)
	for ; n > 0; n-- {
		size, scale := c.decimal.size, c.decimal.scale
		if size == 0 {
			const most = 32
			if len(content) < 4 || binary.LittleEndian.Uint32(content) > most {
				return short
			}
			size, content = int(binary.LittleEndian.Uint32(content)), content[4:]
		}
		if len(content) < size {
			return short
		}
		text := column.Decimal
		if c.physical == physicalInt32 || c.physical == physicalInt64 {
			text = column.DecimalLittleEndian
		}
		d.Texts = append(d.Texts, text(content[:size], scale))
		content = content[size:]
	}
	return nil
}

// hybrid reads n integers of the given number of bits: runs of one value, and values
// packed eight at a time (parquet-format/Encodings.md).
func hybrid(b []byte, width, n int) ([]uint32, error) {
	short := fmt.Errorf("%d values of %d bits: %w", n, width, errThrift)
	var list []uint32
	for len(list) < n {
		head, k := binary.Uvarint(b)
		if k <= 0 || head>>1 > math.MaxInt32 || head>>1 == 0 {
			return nil, short
		}
		b = b[k:]
		count := int(head >> 1)
		if head&1 == 0 {
			size := (width + 7) / 8
			if len(b) < size {
				return nil, short
			}
			var value uint32
			for i := size - 1; i >= 0; i-- {
				value = value<<8 | uint32(b[i])
			}
			if b = b[size:]; width < 32 && value>>width != 0 {
				return nil, fmt.Errorf("the value %d in %d bits: %w", value, width, errThrift)
			}
			for range min(count, n-len(list)) {
				list = append(list, value)
			}
			continue
		}
		if count > len(b)/max(1, width) && width > 0 {
			return nil, short
		}
		for i := range min(8*count, n-len(list)) {
			var value uint32
			for bit := range width {
				at := i*width + bit
				value |= uint32(b[at/8]>>(at%8)&1) << bit
			}
			list = append(list, value)
		}
		b = b[count*width:]
	}
	return list, nil
}

// Compressions.
const (
	uncompressed, snappyCodec, gzipCodec, zstdCodec, lz4Codec = 0, 1, 2, 6, 7
)

var codecNames = map[int64]string{3: "LZO", 4: "BROTLI", 5: "LZ4"}

// decompress returns a page of size bytes.
func (c *columnReader) decompress(b []byte, codec, size int64) ([]byte, error) {
	if codec == uncompressed {
		return b, nil
	}
	if size < 0 {
		return nil, fmt.Errorf("a page of %d bytes: %w", size, errThrift)
	}
	if err := c.in.Budget.Allocate(int(size), len(b)); err != nil {
		return nil, err
	}
	if err := c.in.Budget.Make(int(size), len(b)); err != nil {
		return nil, err
	}
	out, err := decompress(b, codec, int(size))
	if err == nil && int64(len(out)) != size {
		err = fmt.Errorf("a page of %d bytes instead of %d: %w", len(out), size, errThrift)
	}
	return out, err
}

// Bounds of what a byte expands to: a copy of 64 bytes takes 3 in Snappy (google/snappy,
// format_description.txt), and a byte of a length stands for 255 in LZ4.
const maxSnappy, maxLZ4 = 32, 256

func decompress(b []byte, codec int64, size int) ([]byte, error) {
	switch codec {
	case snappyCodec:
		if n, err := snappy.DecodedLen(b); err != nil || n != size || n/maxSnappy > len(b) {
			return nil, fmt.Errorf("a page of %d bytes instead of %d: %w", n, size, errThrift)
		}
		return snappy.Decode(nil, b)
	case gzipCodec:
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(r, int64(size)+1))
	case zstdCodec:
		return column.DecodeZstd(b, size)
	case lz4Codec:
		if size/maxLZ4 > len(b) {
			return nil, fmt.Errorf("a page of %d bytes for %d of the file: %w", size, len(b), errThrift)
		}
		out := make([]byte, size)
		n, err := lz4.UncompressBlock(b, out)
		return out[:max(0, n)], err
	}
	name := codecNames[codec]
	if name == "" {
		name = fmt.Sprint(codec)
	}
	return nil, fmt.Errorf("compression %s, which is not read; known are Snappy, gzip, Zstandard and LZ4_RAW: %w", name, dtype.ErrType)
}
