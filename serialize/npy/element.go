package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// An elementType is what a descr describes:
//
//	'<f4'                              a number
//	'|S5', '<U5'                       a string of up to 5 bytes, or characters of 4 bytes
//	'<M8[ns]', '<m8[25s]'              a time, or a difference of times
//	'|V2'                              2 bytes
//	[('a', '<f4'), ('b', 'i4', (2,))]  fields, one after the other
type elementType struct {
	code   byte // 'S', 'U', 'M', 'm', 'V'; 'r' for fields; 0 for numbers
	number dtype.Type
	order  binary.ByteOrder
	size   int // bytes
	descr  string
	fields []field
}

type field struct {
	name   string // "" for padding
	title  string // another name; "" for none
	typ    elementType
	offset int
	dims   []int // of a field that is an array; nil for others
	count  int   // of its elements
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

// maxElement bounds the size of elements.
const maxElement = 1 << 30

// typeOf reads a descr.
func typeOf(descr any) (elementType, error) {
	switch descr := descr.(type) {
	case string:
		return simpleType(descr)
	case list:
		return recordType(descr)
	}
	return elementType{}, fmt.Errorf("descr %v is not a type: %w", descr, dtype.ErrType)
}

func simpleType(descr string) (elementType, error) {
	unknown := func() (elementType, error) {
		return elementType{}, fmt.Errorf("elements of type %q, which are unknown: %w", descr, dtype.ErrType)
	}
	code := strings.TrimLeft(descr, "<>=|")
	if code == "" || len(descr)-len(code) > 1 {
		return unknown()
	}
	t := elementType{descr: descr, order: orderOf(descr)}
	number, ok := names[code]
	if code == "f1" { // which ml_dtypes writes for float8_e5m2 alone, and NumPy does not read
		number, ok = dtype.Float8E5M2, true
	}
	if ok {
		t.number, t.size = number, number.Size()
		return t, nil
	}
	t.code = code[0]
	switch t.code {
	case 'M', 'm':
		if code[1:] != "8" && (!strings.HasPrefix(code[1:], "8[") || !strings.HasSuffix(code, "]")) {
			return unknown()
		}
		t.number, t.size = dtype.Int64, 8
		return t, nil
	case 'S', 'a', 'U', 'V':
		n, err := strconv.Atoi(code[1:])
		if err != nil || n < 0 || n > maxElement {
			return unknown()
		}
		switch t.size = n; t.code {
		case 'U':
			t.size = 4 * n
		case 'a':
			t.code = 'S'
		}
		return t, nil
	case 'O':
		return elementType{}, fmt.Errorf("elements are Python objects, for which a pickle would have to be run; in NumPy, save with astype to a type of numbers or strings: %w", dtype.ErrType)
	}
	return unknown()
}

// recordType reads a list of fields: (name, descr) or (name, descr, shape), where the name
// may be (title, name).
func recordType(descr list) (elementType, error) {
	t := elementType{code: 'r'}
	for _, item := range descr {
		parts, _ := item.(tuple)
		if len(parts) != 2 && len(parts) != 3 {
			return t, fmt.Errorf("field %v is not a pair: %w", item, dtype.ErrType)
		}
		f := field{offset: t.size, count: 1}
		if titled, ok := parts[0].(tuple); ok && len(titled) == 2 {
			f.title, _ = titled[0].(string)
			parts[0] = titled[1]
		}
		var ok bool
		var err error
		if f.name, ok = parts[0].(string); !ok {
			return t, fmt.Errorf("field %v has no name: %w", item, dtype.ErrType)
		}
		if f.typ, err = typeOf(parts[1]); err != nil {
			return t, fmt.Errorf("field %q: %w", f.name, err)
		}
		if len(parts) == 3 {
			if f.dims, err = sizes(parts[2]); err != nil {
				return t, fmt.Errorf("field %q: %w", f.name, err)
			}
			v, err := views.New(f.dims, maxElement/max(1, f.typ.size))
			if err != nil {
				return t, fmt.Errorf("field %q: %w", f.name, err)
			}
			f.count = v.Len()
		}
		if t.size += f.count * f.typ.size; t.size > maxElement {
			return t, fmt.Errorf("elements of more than %d bytes: %w", maxElement, dtype.ErrType)
		}
		t.fields = append(t.fields, f)
	}
	return t, nil
}

// sizes reads a shape, which may be a single integer.
func sizes(value any) ([]int, error) {
	if n, ok := value.(int); ok {
		return []int{n}, nil
	}
	items, ok := value.(tuple)
	shape := make([]int, len(items))
	for i, item := range items {
		var isInt bool
		shape[i], isInt = item.(int)
		ok = ok && isInt
	}
	if !ok {
		return nil, errors.New("want a size")
	}
	if err := checkRank(shape); err != nil {
		return nil, err
	}
	return shape, nil
}

// name returns the name of the type for a reader, as package inspect has it.
func (t elementType) name() string {
	switch t.code {
	case 0:
		return t.number.String()
	case 'S', 'U':
		return "string"
	case 'r':
		return "compound"
	case 'V':
		return "V" + strconv.Itoa(t.size)
	}
	return t.descr
}

// describe returns the fields of structured elements, without padding.
func (t elementType) describe() []serialize.Field {
	var fields []serialize.Field
	for _, f := range t.fields {
		if f.name == "" {
			continue
		}
		d := serialize.Field{Name: f.name, Title: f.title, Type: f.typ.name(), Number: f.typ.number, Shape: f.dims, Fields: f.typ.describe()}
		if f.typ.code == 'M' || f.typ.code == 'm' {
			d.Descr = nativeOrder + strings.TrimLeft(f.typ.descr, "<>=|")
		}
		fields = append(fields, d)
	}
	return fields
}

// value returns an element as package storage/hdf5 returns those of its types.
func (t elementType) value(b []byte) (any, error) {
	switch t.code {
	case 'S':
		return strings.TrimRight(string(b), "\x00"), nil
	case 'U':
		return t.unicode(b)
	case 'V':
		return b, nil
	case 'r':
		return t.record(b)
	}
	return t.numeric(b), nil
}

func (t elementType) record(b []byte) (any, error) {
	r := dtype.Record{}
	for _, f := range t.fields {
		if f.name == "" {
			continue
		}
		value, err := f.value(b[f.offset:])
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", f.name, err)
		}
		r.Names, r.Values = append(r.Names, f.name), append(r.Values, value)
	}
	return r, nil
}

func (f field) value(b []byte) (any, error) {
	if f.dims == nil {
		return f.typ.value(b[:f.typ.size])
	}
	values := make([]any, f.count)
	for i := range values {
		var err error
		if values[i], err = f.typ.value(b[i*f.typ.size:][:f.typ.size]); err != nil {
			return nil, err
		}
	}
	return dtype.Nest(values, f.dims), nil
}

// unicode returns a string of characters of 4 bytes.
func (t elementType) unicode(b []byte) (any, error) {
	var text []byte
	for ; len(b) >= 4; b = b[4:] {
		r := t.order.Uint32(b)
		if r > unicode.MaxRune || !utf8.ValidRune(rune(r)) {
			return nil, fmt.Errorf("%#x is not a character: %w", r, storage.ErrState)
		}
		text = utf8.AppendRune(text, rune(r))
	}
	return strings.TrimRight(string(text), "\x00"), nil
}

// numeric returns the number that b begins with.
func (t elementType) numeric(b []byte) any {
	element := slices.Clone(b[:t.size])
	serialize.NormalizeBytes(element, t.number, t.order)
	return storage.GoValue(t.number, element)
}
