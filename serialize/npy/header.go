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
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
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
	typ  elementType
	view views.View
	size int64 // of the header itself: where the data begins
}

const (
	magic = "\x93NUMPY"

	// maxHeader is NumPy's limit: it reads headers of 10,000 bytes unless told otherwise.
	maxHeader           = 1 << 20
	maxCompressedHeader = 1 << 16 // of few bytes of the file
)

var names = map[string]dtype.Type{
	"b1": dtype.Bool,
	"u1": dtype.Uint8, "u2": dtype.Uint16, "u4": dtype.Uint32, "u8": dtype.Uint64,
	"i1": dtype.Int8, "i2": dtype.Int16, "i4": dtype.Int32, "i8": dtype.Int64,
	"f2": dtype.Float16, "f4": dtype.Float32, "f8": dtype.Float64,
	"c8": dtype.Complex64, "c16": dtype.Complex128,
}

// codes are the names of the types.
var codes = func() map[dtype.Type]string {
	codes := make(map[dtype.Type]string, len(names))
	for code, t := range names {
		codes[t] = code
	}
	return codes
}()

// readHeader reads the header r begins with. It checks that the view it
// describes counts no more elements than an int, not that they are there, and that the header
// has at most limit bytes.
func readHeader(r io.Reader, limit int) (header, error) {
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
	if length > limit {
		return header{}, fmt.Errorf("header of %d bytes; at most %d are allowed", length, limit)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return header{}, fmt.Errorf("header of %d bytes: %w", length, err)
	}
	if head[6] < 3 { // these are Latin-1, and 3.0 is UTF-8
		text = fromLatin1(text)
	}
	h, err := parseHeader(string(text))
	if err != nil {
		return header{}, fmt.Errorf("header: %w", err)
	}
	h.size = int64(taken + length)
	return h, nil
}

func fromLatin1(text []byte) []byte {
	var b []byte
	for _, c := range text {
		b = utf8.AppendRune(b, rune(c))
	}
	return b
}

// parseHeader reads the dict of a header, its keys in any order.
func parseHeader(text string) (header, error) {
	d, err := parse(text)
	if err != nil {
		return header{}, err
	}
	for _, key := range d.keys {
		if key != "descr" && key != "fortran_order" && key != "shape" {
			return header{}, fmt.Errorf("key %q", key)
		}
	}
	descr, isType := d.values["descr"]
	fortran, isBool := d.values["fortran_order"].(bool)
	_, isTuple := d.values["shape"].(tuple)
	if !isType || !isBool || !isTuple {
		return header{}, errors.New("descr, fortran_order or shape is missing")
	}
	shape, err := sizes(d.values["shape"])
	if err != nil {
		return header{}, err
	}
	h := header{}
	if h.typ, err = typeOf(descr); err == nil {
		h.view, err = layout(shape, fortran, math.MaxInt/max(1, h.typ.size))
	}
	return h, err
}

// layout returns the view of at most limit elements. In Fortran order it is the reversed
// shape, row-major, seen the other way round.
func layout(shape []int, fortran bool, limit int) (views.View, error) {
	view, err := views.New(shape, limit)
	if err != nil || !fortran {
		return view, err
	}
	if view, err = view.Transpose(); err != nil {
		return view, err
	}
	return views.Of(view.Shape...).Transpose()
}

// descrOf returns what describes numbers of type t in the byte order of the machine.
func descrOf(t dtype.Type) (string, error) {
	for name, number := range names {
		if number == t && t.Size() == 1 {
			return "|" + name, nil
		} else if number == t {
			return nativeOrder + name, nil
		}
	}
	return "", fmt.Errorf("NumPy has no %v; convert it to float32 first: %w", t, dtype.ErrType)
}

var nativeOrder = "<"

func init() {
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		nativeOrder = ">"
	}
}

// maxRank is the largest number of axes of NumPy 2.
const maxRank = 64

func checkRank(shape []int) error {
	if len(shape) > maxRank {
		return fmt.Errorf("%d axes; NumPy has at most %d: %w", len(shape), maxRank, views.ErrShape)
	}
	return nil
}

// writeHeader writes what describes a row-major array. descr is a Python literal.
func writeHeader(w io.Writer, descr string, shape []int) error {
	if err := checkRank(shape); err != nil {
		return err
	}
	sizes := ""
	for _, size := range shape {
		sizes += strconv.Itoa(size) + ", "
	}
	if len(shape) > 1 {
		sizes = strings.TrimSuffix(sizes, ", ")
	} else {
		sizes = strings.TrimSuffix(sizes, " ")
	}
	text := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': (%s), }", descr, sizes)
	version, lengthSize := byte(1), 2
	if len(text) > math.MaxUint16-64 {
		version, lengthSize = 2, 4
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		version, lengthSize = 3, 4
	}
	if len(text) > maxHeader-64 {
		return fmt.Errorf("%d axes and a type of %d bytes are too many for an .npy file: %w", len(shape), len(descr), views.ErrShape)
	}
	head := append([]byte(magic), version, 0)
	total := (len(head) + lengthSize + len(text) + 1 + 63) / 64 * 64
	length := total - len(head) - lengthSize
	if lengthSize == 2 {
		head = binary.LittleEndian.AppendUint16(head, uint16(length))
	} else {
		head = binary.LittleEndian.AppendUint32(head, uint32(length))
	}
	head = append(append(head, text...), bytes.Repeat([]byte(" "), length-len(text)-1)...)
	_, err := w.Write(append(head, '\n'))
	return err
}
