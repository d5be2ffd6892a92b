package npy

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// writeElements writes elements that are not numbers. It goes through them twice: NumPy's
// elements have one size, which is that of the longest string.
func writeElements(w io.Writer, e *serialize.Elements) error {
	k := kindOf(e)
	misfit, err := e.Check(context.Background(), k.include)
	if err = cmp.Or(misfit, err); err != nil {
		return err
	}
	if err := writeHeader(w, k.descr(), e.View.Shape); err != nil {
		return err
	}
	const about = 1 << 16 // values that are in memory at a time
	var b []byte
	for part, err := range blocks.Views(context.Background(), e.View, about) {
		if err != nil {
			return err
		}
		values, err := e.Values(part)
		if err != nil {
			return err
		}
		b = b[:0]
		for _, value := range values {
			b = k.append(b, value)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// A kind is the type that all values seen so far fit.
type kind struct {
	goType string // "" before the first value, unless the file says it
	number string // NumPy's type of numbers, where the file says it: f2, M8[s]
	bytes  int    // of the longest text
	runes  int    // of the longest text
	binary bool   // a text is not UTF-8
	names  []string
	titles []string // of the fields; nil if the file does not say them
	fields []kind
	items  int // of lists, whose items are of the kind fields[0]
}

// Names of Go types.
const recordGo, listGo = "dtype.Record", "[]interface {}"

// kindOf returns the kind of elements, as far as the file says it.
func kindOf(e *serialize.Elements) *kind {
	if e.Fields == nil {
		return &kind{}
	}
	k := recordOf(e.Fields)
	return &k
}

func recordOf(fields []serialize.Field) kind {
	k := kind{goType: recordGo}
	for _, f := range fields {
		of := kind{number: codes[f.Number]}
		switch {
		case f.Descr != "":
			of.number = strings.TrimLeft(f.Descr, "<")
		case f.Fields != nil:
			of = recordOf(f.Fields)
		case f.Type == "string":
			of.goType = "string"
		}
		for _, n := range slices.Backward(f.Shape) {
			of = kind{goType: listGo, items: n, fields: []kind{of}}
		}
		k.names, k.titles, k.fields = append(k.names, f.Name), append(k.titles, f.Title), append(k.fields, of)
	}
	return k
}

// checkFields returns an error if compounds have a field that NumPy does not have, or none that is known.
func checkFields(e serialize.Entry) error {
	if e.Elements == nil {
		return nil
	}
	if e.Elements.Fields == nil && e.Elements.Type != "string" && e.Elements.View.Len() == 0 {
		return fmt.Errorf("there is no element, so that the fields of %s are unknown: %w", e.Elements.Type, dtype.ErrType)
	}
	return checkEach(e.Elements.Fields)
}

func checkEach(fields []serialize.Field) error {
	for _, f := range fields {
		if f.Varies {
			return fmt.Errorf("field %q has lists of any length, which NumPy does not have: %w", f.Name, dtype.ErrType)
		}
		if err := checkEach(f.Fields); err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	return nil
}

// numbers are the codes of Go's types.
var numbers = map[string]string{"int64": "i8", "uint64": "u8", "float64": "f8", "float32": "f4", "complex128": "c16", "bool": "b1"}

// held are the letters of NumPy's types whose elements are of a Go type.
var held = map[string]string{"int64": "iMm", "uint64": "u", "float64": "f", "float32": "f", "complex128": "c", "bool": "b"}

// include widens k so that it fits value.
func (k *kind) include(value any) error {
	first := k.goType == ""
	if goType := fmt.Sprintf("%T", value); !first && goType != k.goType {
		return fmt.Errorf("elements of types %s and %s in one array: %w", k.goType, goType, dtype.ErrType)
	} else {
		k.goType = goType
	}
	switch value := value.(type) {
	case string:
		if strings.HasSuffix(value, "\x00") {
			return fmt.Errorf("%.40q ends in a zero byte, which NumPy would cut off; write .arrow or .parquet: %w", value, storage.ErrState)
		}
		k.bytes, k.runes = max(k.bytes, len(value)), max(k.runes, utf8.RuneCountInString(value))
		k.binary = k.binary || !utf8.ValidString(value)
	case []byte:
		if !first && len(value) != k.bytes {
			return fmt.Errorf("elements of %d and %d bytes in one array: %w", k.bytes, len(value), dtype.ErrType)
		}
		k.bytes = len(value)
	case dtype.Record:
		if first {
			k.names, k.fields = value.Names, make([]kind, len(value.Names))
		}
		if !slices.Equal(k.names, value.Names) {
			return fmt.Errorf("elements with fields %q and %q in one array: %w", k.names, value.Names, dtype.ErrType)
		}
		for i := range value.Values {
			if err := k.fields[i].include(value.Values[i]); err != nil {
				return fmt.Errorf("field %q: %w", k.names[i], err)
			}
		}
	case []any:
		if first {
			k.items, k.fields = len(value), make([]kind, 1)
		}
		if len(value) != k.items {
			return fmt.Errorf("lists of %d and %d items in one array: %w", k.items, len(value), dtype.ErrType)
		}
		for _, item := range value {
			if err := k.fields[0].include(item); err != nil {
				return err
			}
		}
	default:
		if numbers[k.goType] == "" {
			return fmt.Errorf("elements of type %s, which NumPy does not have: %w", k.goType, dtype.ErrType)
		}
	}
	if k.number != "" && !strings.Contains(held[k.goType], k.number[:1]) {
		return fmt.Errorf("an element of type %s in a field of type %s: %w", k.goType, k.number, dtype.ErrType)
	}
	return nil
}

// descr returns the type as a Python literal.
func (k kind) descr() string {
	switch {
	case k.goType == recordGo:
		var b strings.Builder
		b.WriteByte('[')
		for i, name := range k.names {
			if i > 0 {
				b.WriteString(", ")
			}
			field, shape := k.fields[i], ""
			for dims := []int{}; field.goType == listGo; field = field.fields[0] {
				dims = append(dims, field.items)
				shape = ", (" + strings.Trim(strings.ReplaceAll(fmt.Sprint(dims), " ", ", "), "[]") + ",)"
			}
			name = repr(name)
			if k.titles != nil && k.titles[i] != "" {
				name = "(" + repr(k.titles[i]) + ", " + name + ")"
			}
			b.WriteString("(" + name + ", " + field.descr() + shape + ")")
		}
		return b.String() + "]"
	case k.number == "b1" || k.number == "" && k.goType == "bool":
		return "'|b1'"
	case k.number != "":
		return "'<" + k.number + "'"
	case k.goType == "" || k.goType == "string": // NumPy has no field of a type without bytes
		if k.binary {
			return "'|S" + strconv.Itoa(max(1, k.bytes)) + "'"
		}
		return "'<U" + strconv.Itoa(max(1, k.runes)) + "'"
	case k.goType == "[]uint8":
		return "'|V" + strconv.Itoa(k.bytes) + "'"
	}
	return "'<" + numbers[k.goType] + "'"
}

// repr returns a name as Python writes it.
func repr(name string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(name) + "'"
}

// append appends the bytes of a value.
func (k kind) append(b []byte, value any) []byte {
	le := binary.LittleEndian
	switch value := value.(type) {
	case string:
		start := len(b)
		if k.binary {
			return append(append(b, value...), make([]byte, max(1, k.bytes)-len(value))...)
		}
		for _, r := range value {
			b = le.AppendUint32(b, uint32(r))
		}
		return append(b, make([]byte, 4*max(1, k.runes)-(len(b)-start))...)
	case []byte:
		return append(b, value...)
	case bool:
		if value {
			return append(b, 1)
		}
		return append(b, 0)
	case int64:
		return k.appendInteger(b, uint64(value))
	case uint64:
		return k.appendInteger(b, value)
	case float32:
		if k.number == "f8" {
			return k.appendFloat(b, float64(value))
		}
		return le.AppendUint32(b, math.Float32bits(value))
	case float64:
		return k.appendFloat(b, value)
	case complex128:
		return k.appendComplex(b, value)
	case dtype.Record:
		for i := range value.Values {
			b = k.fields[i].append(b, value.Values[i])
		}
	case []any:
		for _, item := range value {
			b = k.fields[0].append(b, item)
		}
	}
	return b
}

// appendInteger appends the bytes of an integer that k has.
func (k kind) appendInteger(b []byte, value uint64) []byte {
	size := 8
	if t := names[k.number]; t.Valid() {
		size = t.Size()
	}
	for range size {
		b, value = append(b, byte(value)), value>>8
	}
	return b
}

// appendFloat appends a float that k has.
func (k kind) appendFloat(b []byte, value float64) []byte {
	switch k.number {
	case "f2":
		return binary.LittleEndian.AppendUint16(b, uint16(dtype.F16From(float32(value))))
	case "f4":
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(value)))
	}
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(value))
}

// appendComplex appends a complex number of two float64s or float32s.
func (k kind) appendComplex(b []byte, value complex128) []byte {
	for _, part := range []float64{real(value), imag(value)} {
		if k.number == "c8" {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(part)))
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(part))
		}
	}
	return b
}
