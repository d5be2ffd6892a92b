package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A header says what the bytes after it are. It is laid out as
//
//	\x93 N U M P Y   6 bytes
//	major, minor     2 bytes: 1.0, 2.0 or 3.0
//	length           2 bytes in 1.0, else 4; little-endian
//	a Python dict    that many: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
// numpy.org/doc/stable/reference/generated/numpy.lib.format.html. The dict is
// padded with spaces and ends in a newline, so that data starts at a multiple of 64.
type header struct {
	typ   dtype.Type
	order binary.ByteOrder
	view  views.View
	size  int64 // of the header itself: where the data begins
}

const (
	magic     = "\x93NUMPY"
	maxHeader = 1 << 16 // NumPy reads 10,000 bytes unless told otherwise
)

var names = map[string]dtype.Type{
	"b1": dtype.Bool,
	"u1": dtype.Uint8, "u2": dtype.Uint16, "u4": dtype.Uint32, "u8": dtype.Uint64,
	"i1": dtype.Int8, "i2": dtype.Int16, "i4": dtype.Int32, "i8": dtype.Int64,
	"f2": dtype.Float16, "f4": dtype.Float32, "f8": dtype.Float64,
	"c8": dtype.Complex64, "c16": dtype.Complex128,
}

// orderOf returns the byte order of elements that descr describes.
func orderOf(descr string) binary.ByteOrder {
	switch descr[0] {
	case '<':
		return binary.LittleEndian
	case '>':
		return binary.BigEndian
	}
	return binary.NativeEndian
}

// array returns the array that h describes over data, which starts where the
// header ends.
func (h header) array(data storage.Source) (storage.Array, error) {
	if need := h.view.Len() * h.typ.Size(); need > data.Len() {
		return storage.Array{}, fmt.Errorf("%v%v takes %d bytes, but there are %d: %w", h.typ, h.view.Shape, need, data.Len(), storage.ErrState)
	}
	return storage.Array{Data: serialize.Normalize(data, h.typ, h.order), Type: h.typ, View: h.view}, nil
}

// readHeader reads the header r begins with. It checks that the view it
// describes counts no more elements than an int, not that they are there.
func readHeader(r io.Reader) (header, error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:10]); err != nil {
		return header{}, fmt.Errorf("header: %w", err)
	}
	if string(head[:6]) != magic {
		return header{}, errors.New("does not begin like an .npy file")
	}
	length, taken := int(binary.LittleEndian.Uint16(head[8:])), 10
	switch head[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, head[10:]); err != nil {
			return header{}, fmt.Errorf("header: %w", err)
		}
		length, taken = int(min(binary.LittleEndian.Uint32(head[8:]), math.MaxInt32)), 12
	default:
		return header{}, fmt.Errorf("version %d.%d of the .npy format; known are 1.0, 2.0 and 3.0", head[6], head[7])
	}
	if length > maxHeader {
		return header{}, fmt.Errorf("header of %d bytes; at most %d are allowed", length, maxHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return header{}, fmt.Errorf("header of %d bytes: %w", length, err)
	}
	h, err := parseHeader(string(text))
	if err != nil {
		return header{}, fmt.Errorf("header: %w", err)
	}
	h.size = int64(taken + length)
	return h, nil
}

// parseHeader reads the dict of a header, its keys in any order.
func parseHeader(text string) (header, error) {
	d := dict{text: text}
	var descr string
	var fortran bool
	var shape []int
	seen := map[string]bool{}
	d.expect("{")
	for d.err == nil && !d.take("}") {
		key := d.quoted()
		d.expect(":")
		if seen[key] {
			d.fail("key %q twice", key)
		}
		seen[key] = true
		switch key {
		case "descr":
			descr = d.quoted()
		case "fortran_order":
			if fortran = d.take("True"); !fortran {
				d.expect("False")
			}
		case "shape":
			shape = d.tuple()
		default:
			d.fail("key %q", key)
		}
		if !d.take(",") {
			d.expect("}")
			break
		}
	}
	if d.space(); d.err == nil && d.at < len(d.text) {
		d.fail("text after the end")
	}
	if d.err != nil {
		return header{}, d.err
	}
	if !seen["descr"] || !seen["fortran_order"] || !seen["shape"] {
		return header{}, errors.New("descr, fortran_order or shape is missing")
	}
	return describe(descr, fortran, shape)
}

func describe(descr string, fortran bool, shape []int) (header, error) {
	typ, ok := names[strings.TrimLeft(descr, "<>=|")]
	if !ok || len(descr) > 4 || strings.LastIndexAny(descr, "<>=|") > 0 {
		return header{}, fmt.Errorf("elements of type %q are not numbers that can be read: %w", descr, dtype.ErrType)
	}
	view, err := views.New(shape, math.MaxInt/typ.Size())
	if err != nil {
		return header{}, err
	}
	if fortran { // the reversed shape, row-major, seen the other way round
		if view, err = view.Transpose(); err == nil {
			view, err = views.Of(view.Shape...).Transpose()
		}
	}
	return header{typ: typ, order: orderOf(descr), view: view}, err
}

// A dict reads Python literals, as far as headers have them. The first error stays.
type dict struct {
	text string
	at   int
	err  error
}

func (d *dict) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("position %d: %s", d.at, fmt.Sprintf(format, args...))
	}
}

func (d *dict) space() {
	for d.at < len(d.text) && strings.IndexByte(" \t\r\n", d.text[d.at]) >= 0 {
		d.at++
	}
}

func (d *dict) take(word string) bool {
	d.space()
	if d.err != nil || !strings.HasPrefix(d.text[d.at:], word) {
		return false
	}
	d.at += len(word)
	return true
}

func (d *dict) expect(word string) {
	if !d.take(word) {
		d.fail("want %s", word)
	}
}

// quoted reads a string without escapes, in either kind of quotes.
func (d *dict) quoted() string {
	quote := "'"
	if !d.take(quote) {
		quote = `"`
		if !d.take(quote) {
			d.fail("want a string; structured types are not read")
			return ""
		}
	}
	s, _, found := strings.Cut(d.text[d.at:], quote)
	if !found || strings.ContainsAny(s, "\\\n") {
		d.fail("string without end, or with escapes")
		return ""
	}
	d.at += len(s) + 1
	return s
}

// tuple reads integers in parentheses. Python 2 wrote them with an L.
func (d *dict) tuple() []int {
	shape := []int{}
	d.expect("(")
	for d.err == nil && !d.take(")") {
		d.space()
		start := d.at
		for d.at < len(d.text) && '0' <= d.text[d.at] && d.text[d.at] <= '9' {
			d.at++
		}
		n, err := strconv.Atoi(d.text[start:d.at])
		if err != nil {
			d.at = start
			d.fail("want a size")
			return nil
		}
		if shape = append(shape, n); len(shape) > 64 {
			d.fail("more than 64 axes")
		}
		d.take("L")
		if !d.take(",") {
			d.expect(")")
			break
		}
	}
	return shape
}

// writeHeader writes what describes a row-major array of the given type and shape.
func writeHeader(w io.Writer, a storage.Array) error {
	name := ""
	for n, t := range names {
		if t == a.Type {
			name = n
		}
	}
	if name == "" {
		return fmt.Errorf("NumPy has no %v; convert it to float32 first: %w", a.Type, dtype.ErrType)
	}
	order := "<"
	switch {
	case a.Type.Size() == 1:
		order = "|"
	case binary.NativeEndian.Uint16([]byte{0, 1}) == 1:
		order = ">"
	}
	shape := ""
	for _, size := range a.Shape {
		shape += strconv.Itoa(size) + ", "
	}
	if a.Rank() > 1 {
		shape = strings.TrimSuffix(shape, ", ")
	} else {
		shape = strings.TrimSuffix(shape, " ")
	}
	text := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, name, shape)
	head := append([]byte(magic), 1, 0, 0, 0)
	total := (len(head) + len(text) + 1 + 63) / 64 * 64
	if total > math.MaxUint16 {
		return fmt.Errorf("%d axes are too many for an .npy file: %w", a.Rank(), views.ErrShape)
	}
	binary.LittleEndian.PutUint16(head[8:], uint16(total-len(head)))
	head = append(append(head, text...), bytes.Repeat([]byte(" "), total-len(head)-len(text)-1)...)
	_, err := w.Write(append(head, '\n'))
	return err
}
