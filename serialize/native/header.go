package native

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/jsontext"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A header is the JSON after the preamble, without white space and with its members in
// this order:
//
//	{"metadata":{"epoch":"3"},
//	 "storages":[{"dtype":"float32","offset":0,"nbytes":24}],
//	 "tensors":{"a.weight":{"storage":0,"shape":[3,2],"strides":[1,3],"offset":0,"attributes":{"role":"param"}}}}
//
// Metadata and attributes are sorted by name; tensors are in the order of the file.
// Strides, offset and attributes are left out of tensors that are row-major, begin at the
// first element, or have none.
type header struct {
	meta     map[string]string
	storages []storedArray
	tensors  []tensor
}

// A storedArray is a storage: elements of one type.
type storedArray struct {
	dtype          string
	offset, nbytes int // offset from where the data begin
}

// A tensor is a view of a storage.
type tensor struct {
	name           string
	storage        int
	shape, strides []int // strides are nil in row-major order
	offset         int   // of the first element, in elements
	attrs          map[string]any
}

func (h *header) encode() ([]byte, error) {
	b := make([]byte, 0, 256+128*len(h.tensors))
	b = append(b, `{"metadata":{`...)
	for i, key := range slices.Sorted(maps.Keys(h.meta)) {
		b = jsontext.Append(append(jsontext.Append(comma(b, i), key), ':'), h.meta[key])
	}
	b = append(b, `},"storages":[`...)
	for i, s := range h.storages {
		b = append(comma(b, i), `{"dtype":"`...)
		b = append(append(b, s.dtype...), `","offset":`...)
		b = append(strconv.AppendInt(b, int64(s.offset), 10), `,"nbytes":`...)
		b = append(strconv.AppendInt(b, int64(s.nbytes), 10), '}')
	}
	b = append(b, `],"tensors":{`...)
	for i, t := range h.tensors {
		b = append(jsontext.Append(comma(b, i), t.name), `:{"storage":`...)
		b = append(strconv.AppendInt(b, int64(t.storage), 10), `,"shape":`...)
		b = jsontext.AppendInts(b, t.shape...)
		if t.strides != nil {
			b = jsontext.AppendInts(append(b, `,"strides":`...), t.strides...)
		}
		if t.offset != 0 {
			b = strconv.AppendInt(append(b, `,"offset":`...), int64(t.offset), 10)
		}
		if len(t.attrs) > 0 {
			var err error
			if b, err = appendAttributes(append(b, `,"attributes":`...), t.attrs); err != nil {
				return nil, fmt.Errorf("%q: %w", t.name, err)
			}
		}
		b = append(b, '}')
	}
	b = append(b, "}}"...)
	if len(b) > maxHeader {
		return nil, fmt.Errorf("header of %d bytes; the native format allows %d: %w", len(b), maxHeader, storage.ErrState)
	}
	return b, nil
}

// comma separates what comes after the first of a list.
func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

// appendAttributes appends an object of attributes: a string, a list of strings, or
//
//	{"dtype":"float64","shape":[2],"elements":"…"}
//
// with the row-major, little-endian elements in Base64.
func appendAttributes(b []byte, attrs map[string]any) ([]byte, error) {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(attrs)) {
		b = append(jsontext.Append(comma(b, i), name), ':')
		switch value := attrs[name].(type) {
		case string:
			b = jsontext.Append(b, value)
		case []string:
			b = append(b, '[')
			for k, text := range value {
				b = jsontext.Append(comma(b, k), text)
			}
			b = append(b, ']')
		case storage.Array:
			var elements strings.Builder
			text := base64.NewEncoder(base64.StdEncoding, &elements)
			if err := serialize.WriteLittleEndian(text, value); err != nil {
				return nil, fmt.Errorf("attribute %s: %w", name, err)
			}
			text.Close() // into a strings.Builder, which has no errors
			b = append(append(append(b, `{"dtype":"`...), value.Type.String()...), `","shape":`...)
			b = append(jsontext.AppendInts(b, value.Shape...), `,"elements":"`...)
			b = append(append(b, elements.String()...), `"}`...)
		default:
			return nil, fmt.Errorf("attribute %s of type %T: %w", name, value, dtype.ErrType)
		}
	}
	return append(b, '}'), nil
}

// parseHeader reads a header, whose members may be in any order.
func parseHeader(text string) (*header, error) {
	h := &header{meta: map[string]string{}}
	p := jsontext.New(text)
	seen := 0
	p.Object(func(key string) {
		seen++
		switch key {
		case "metadata":
			h.meta = p.Strings()
		case "storages":
			p.Array(func() { h.storages = append(h.storages, parseStorage(p)) })
		case "tensors":
			p.Object(func(name string) {
				if len(name) > maxName {
					p.Fail("a name of %d bytes; at most %d are allowed", len(name), maxName)
				}
				if h.tensors = append(h.tensors, parseTensor(p, name)); len(h.tensors) > maxTensors {
					p.Fail("more than %d tensors", maxTensors)
				}
			})
		default:
			p.Fail("unknown key %q", key)
		}
	})
	if seen != 3 {
		p.Fail("metadata, storages or tensors are missing")
	}
	if err := p.End(); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return h, nil
}

func parseStorage(p *jsontext.Parser) (s storedArray) {
	seen := 0
	p.Object(func(key string) {
		seen++
		switch key {
		case "dtype":
			s.dtype = p.String()
		case "offset":
			s.offset = p.Int()
		case "nbytes":
			s.nbytes = p.Int()
		default:
			p.Fail("unknown key %q of a storage", key)
		}
	})
	if seen != 3 {
		p.Fail("a storage without dtype, offset or nbytes")
	}
	return s
}

func parseTensor(p *jsontext.Parser, name string) tensor {
	t := tensor{name: name, storage: -1}
	p.Object(func(key string) {
		switch key {
		case "storage":
			t.storage = p.Int()
		case "shape":
			t.shape = p.Ints()
		case "strides":
			t.strides = p.Ints()
		case "offset":
			t.offset = p.Int()
		case "attributes":
			t.attrs = map[string]any{}
			p.Object(func(name string) { t.attrs[name] = parseAttribute(p) })
		default:
			p.Fail("%q: unknown key %q", name, key)
		}
	})
	if t.storage < 0 || t.shape == nil {
		p.Fail("%q has no storage or shape", name)
	}
	return t
}

func parseAttribute(p *jsontext.Parser) any {
	switch p.Next() {
	case '"':
		return p.String()
	case '[':
		list := []string{}
		p.Array(func() { list = append(list, p.String()) })
		return list
	}
	var typ, elements string
	var shape []int
	p.Object(func(key string) {
		switch key {
		case "dtype":
			typ = p.String()
		case "shape":
			shape = p.Ints()
		case "elements":
			elements = p.String()
		default:
			p.Fail("unknown key %q of an attribute", key)
		}
	})
	a, err := attributeArray(typ, shape, elements)
	if err != nil {
		p.Fail("attribute: %v", err)
	}
	return a
}

func attributeArray(typ string, shape []int, elements string) (a storage.Array, err error) {
	t, err := dtype.Parse(typ)
	if err != nil {
		return a, err
	}
	b, err := base64.StdEncoding.DecodeString(elements)
	if err != nil {
		return a, err
	}
	v, err := views.New(shape, math.MaxInt/t.Size())
	if err != nil {
		return a, err
	}
	if v.Len()*t.Size() != len(b) {
		return a, fmt.Errorf("%v%v takes %d bytes, not %d: %w", t, shape, v.Len()*t.Size(), len(b), views.ErrShape)
	}
	if a, err = storage.Make(storage.CPU, t, shape...); err != nil {
		return a, err
	}
	little := storage.Array{Data: serialize.Normalize(serialize.AsSource(storage.Wrap(b)), t, binary.LittleEndian), Type: t, View: v}
	return a, little.CopyTo(a)
}
