package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/protowire"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Fields of TensorProto. Elements are in one of them, by their type, or in another file.
const (
	tensorDims     = 1
	tensorType     = 2
	tensorSegment  = 3
	tensorFloats   = 4 // of FLOAT and COMPLEX64
	tensorInts     = 5 // int32, which hold the bits of all types of up to 32 bits but these
	tensorStrings  = 6 // of STRING
	tensorLongs    = 7 // of INT64
	tensorName     = 8
	tensorRaw      = 9  // little-endian, of any type
	tensorDoubles  = 10 // of DOUBLE and COMPLEX128
	tensorUlongs   = 11 // uint64, of UINT32 and UINT64
	tensorDoc      = 12
	tensorExternal = 13
	tensorLocation = 14 // 1 if the elements are in another file
)

// An elementType is one of TensorProto.DataType.
type elementType struct {
	name  string
	typ   dtype.Type
	field int // of elements that are not raw
}

var elementTypes = map[uint64]elementType{
	1: {"FLOAT", dtype.Float32, tensorFloats}, 2: {"UINT8", dtype.Uint8, tensorInts}, 3: {"INT8", dtype.Int8, tensorInts},
	4: {"UINT16", dtype.Uint16, tensorInts}, 5: {"INT16", dtype.Int16, tensorInts}, 6: {"INT32", dtype.Int32, tensorInts},
	7: {"INT64", dtype.Int64, tensorLongs}, typeString: {"STRING", dtype.Invalid, tensorStrings}, 9: {"BOOL", dtype.Bool, tensorInts},
	10: {"FLOAT16", dtype.Float16, tensorInts}, 11: {"DOUBLE", dtype.Float64, tensorDoubles}, 12: {"UINT32", dtype.Uint32, tensorUlongs},
	13: {"UINT64", dtype.Uint64, tensorUlongs}, 14: {"COMPLEX64", dtype.Complex64, tensorFloats}, 15: {"COMPLEX128", dtype.Complex128, tensorDoubles},
	16: {"BFLOAT16", dtype.BFloat16, tensorInts}, 17: {"FLOAT8E4M3FN", dtype.Float8E4M3, tensorInts}, 19: {"FLOAT8E5M2", dtype.Float8E5M2, tensorInts},
	18: {name: "FLOAT8E4M3FNUZ"}, 20: {name: "FLOAT8E5M2FNUZ"}, 21: {name: "UINT4"}, 22: {name: "INT4"}, 23: {name: "FLOAT4E2M1"},
	24: {name: "FLOAT8E8M0"}, 25: {name: "UINT2"}, 26: {name: "INT2"}, 27: {name: "FLOAT6E2M3"}, 28: {name: "FLOAT6E3M2"},
}

const typeString = 8

// A tensor is a TensorProto.
type tensor struct {
	name     string
	doc      string
	dims     []int
	typ      uint64
	raw      *protowire.Field
	parts    []protowire.Field // of elements that are not raw
	external map[string]string
	segment  bool
	location uint64
}

func (f *file) tensor(r *protowire.Reader) (t tensor, err error) {
	err = each(r, func(field protowire.Field) (err error) {
		switch field.Number {
		case tensorDims:
			return t.addDims(r, field)
		case tensorType:
			t.typ = field.Value
		case tensorSegment:
			t.segment = true
		case tensorFloats, tensorInts, tensorStrings, tensorLongs, tensorDoubles, tensorUlongs:
			t.parts = append(t.parts, field)
		case tensorName:
			t.name, err = r.Text(field)
		case tensorDoc:
			t.doc, err = r.Text(field)
		case tensorRaw:
			t.raw = &field
		case tensorExternal:
			var key, value string
			if key, value, err = pair(r.Sub(field)); err == nil {
				if t.external == nil {
					t.external = map[string]string{}
				}
				t.external[key] = value
			}
		case tensorLocation:
			t.location = field.Value
		}
		return err
	})
	return t, err
}

const maxRank = 64

// addDims adds one size or, packed, several.
func (t *tensor) addDims(r *protowire.Reader, field protowire.Field) error {
	add := func(size uint64) error {
		if t.dims = append(t.dims, int(size)); len(t.dims) > maxRank {
			return fmt.Errorf("more than %d axes", maxRank)
		}
		return nil
	}
	if field.Type == 0 {
		return add(field.Value)
	}
	for packed := r.Sub(field); packed.More(); {
		size, err := packed.Varint()
		if err == nil {
			err = add(size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entry returns the array of a tensor.
func (f *file) entry(t tensor) (serialize.Entry, error) {
	e := serialize.Entry{Name: t.name}
	element, known := elementTypes[t.typ]
	if !known {
		element.name = fmt.Sprintf("unknown (%d)", t.typ)
	}
	if t.segment {
		return e, errors.New("the tensor is stored in segments, which no program writes")
	}
	if t.typ == typeString {
		return f.strings(t)
	}
	if !element.typ.Valid() {
		return serialize.Unsupported(t.name, t.dims, element.name)
	}
	v, err := views.New(t.dims, math.MaxInt/element.typ.Size())
	if err != nil {
		return e, err
	}
	e.Array = storage.Array{Type: element.typ, View: v}
	e.Array.Data, err = f.elements(t, element, v.Len())
	if t.location == 1 && v.Len() > 0 { // several tensors may be the same part of a file
		e.Shared = t.external["location"] + ":" + t.external["offset"]
	}
	return e, err
}

// elements returns the n elements of a tensor.
func (f *file) elements(t tensor, element elementType, n int) (storage.Storage, error) {
	size := int64(n) * int64(element.typ.Size())
	switch {
	case t.location == 1:
		data, err := f.external.section(t.name, t.external, size)
		if err != nil {
			return nil, err
		}
		return serialize.Normalize(data, element.typ, binary.LittleEndian), nil
	case t.location != 0:
		return nil, fmt.Errorf("data location %d; known are 0 and 1", t.location)
	case t.raw != nil:
		if t.raw.Type != 2 || t.raw.Size != size {
			return nil, fmt.Errorf("%v%v takes %d bytes, but there are %d: %w", element.typ, t.dims, size, t.raw.Size, storage.ErrState)
		}
		return f.section(*t.raw, element.typ)
	}
	for _, part := range t.parts {
		if part.Number != element.field {
			return nil, fmt.Errorf("elements of type %s are in field %d instead of %d", element.name, part.Number, element.field)
		}
	}
	if element.field == tensorFloats || element.field == tensorDoubles {
		if len(t.parts) == 1 && t.parts[0].Type == 2 && t.parts[0].Size == size {
			return f.section(t.parts[0], element.typ) // packed floats are stored as raw ones
		}
	}
	return f.unpacked(t, element, n)
}

// section returns the bytes of a field as elements.
func (f *file) section(field protowire.Field, typ dtype.Type) (storage.Storage, error) {
	data, err := f.sections.Section(field.At, field.Size)
	if err != nil {
		return nil, err
	}
	return serialize.Normalize(data, typ, binary.LittleEndian), nil
}

// unpacked reads elements that are a varint or a field each. Small tensors are stored in
// this way, which takes at least a byte for each element.
func (f *file) unpacked(t tensor, element elementType, n int) (storage.Storage, error) {
	width := element.typ.Size()
	s := scalars{tensor: fmt.Sprintf("%v%v", element.typ, t.dims), want: n, size: width}
	if element.typ.IsComplex() {
		s.want, s.size = 2*n, width/2
	}
	stored := int64(0)
	for _, part := range t.parts {
		stored += max(1, part.Size)
	}
	if int64(s.want) > stored {
		return nil, fmt.Errorf("%s has more elements than the %d bytes that are stored: %w", s.tensor, stored, storage.ErrState)
	}
	f.decoded += n * width
	if err := f.in.Budget.Allocate(f.decoded, int(f.in.Size)); err != nil {
		return nil, err
	}
	s.bytes = make([]byte, 0, n*width)
	floats := element.field == tensorFloats || element.field == tensorDoubles
	for _, part := range t.parts {
		if err := f.readPart(&s, part, floats); err != nil {
			return nil, err
		}
	}
	if s.count != s.want {
		return nil, fmt.Errorf("%s has %d elements instead of %d: %w", s.tensor, s.count, s.want, storage.ErrState)
	}
	serialize.NormalizeBytes(s.bytes, element.typ, binary.LittleEndian)
	return storage.Wrap(s.bytes), nil
}

// scalars are the numbers of a tensor, of which complex elements are two.
type scalars struct {
	tensor     string // in errors: its type and shape
	size, want int    // bytes of one, and how many there must be
	count      int    // that were read
	bytes      []byte
}

// add adds a number.
func (s *scalars) add(x uint64) error {
	if s.count++; s.count > s.want {
		return fmt.Errorf("%s has more than %d elements: %w", s.tensor, s.want, storage.ErrState)
	}
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], x)
	s.bytes = append(s.bytes, bytes[:s.size]...)
	return nil
}

// readPart reads a field of scalars: one of them, packed floats or packed varints.
func (f *file) readPart(s *scalars, part protowire.Field, floats bool) error {
	switch {
	case part.Type != 2:
		return s.add(part.Value)
	case floats:
		chunk := make([]byte, part.Size)
		if err := f.in.ReadFull(chunk, part.At); err != nil {
			return err
		}
		if s.count += len(chunk) / s.size; s.count > s.want || len(chunk)%s.size != 0 {
			return fmt.Errorf("%s has %d bytes of elements: %w", s.tensor, len(s.bytes)+len(chunk), storage.ErrState)
		}
		s.bytes = append(s.bytes, chunk...)
		return nil
	}
	for r := protowire.NewReader(f.in, part.At, part.Size); r.More(); {
		x, err := r.Varint()
		if err == nil {
			err = s.add(x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// strings returns a tensor of strings.
func (f *file) strings(t tensor) (serialize.Entry, error) {
	v, err := views.New(t.dims, len(t.parts))
	if err != nil || v.Len() != len(t.parts) {
		return serialize.Entry{Name: t.name}, fmt.Errorf("%d strings for shape %v: %w", len(t.parts), t.dims, views.ErrShape)
	}
	values := func(selected views.View) ([]any, error) {
		if !selected.Within(len(t.parts)) {
			return nil, fmt.Errorf("%v reaches outside %v: %w", selected.Shape, t.dims, views.ErrShape)
		}
		r := protowire.NewReader(f.in, 0, 0)
		var list []any
		for at := range selected.Positions() {
			if err := f.sections.Check(); err != nil {
				return nil, err
			}
			text, err := r.Text(t.parts[at])
			if err != nil {
				return nil, err
			}
			list = append(list, text)
		}
		return list, nil
	}
	return serialize.Entry{Name: t.name, Elements: &serialize.Elements{View: v, Type: "string", Values: values}}, nil
}

// ElementType returns the type of elements that TensorProto.DataType has under a number, or dtype.Invalid.
func ElementType(n int) dtype.Type { return elementTypes[uint64(n)].typ }
