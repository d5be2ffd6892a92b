// Package index encodes the list of tensors that the native format and the HDF5 checkpoint
// profile have in common: storages, and named views of them, as JSON.
package index

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/jsontext"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Header is such a list. Its JSON has no white space, and its members in this order:
//
//	{"metadata":{"epoch":"3"},
//	 "storages":[{"dtype":"float32","offset":0,"nbytes":24}],
//	 "tensors":{"a.weight":{"storage":0,"shape":[3,2],"strides":[1,3],"offset":0,"attributes":{"role":"param"}}}}
//
// Metadata and attributes are sorted by name; tensors are in the order of the file.
// Strides, offset and attributes are left out of tensors that are row-major, begin at the
// first element, or have none.
type Header struct {
	Meta     map[string]string
	Storages []Storage

	Tensors []Tensor
	users   [][]int // the tensors of each storage, once they are checked
}

// Limits of what is read and written.
const (
	MaxSize    = 100_000_000 // bytes of the JSON
	MaxTensors = 1_000_000
	MaxName    = 4096 // bytes
)

// A Storage is elements of one type.
type Storage struct {
	DType         string
	Offset, Bytes int
	CRC32C        uint32 // if HasCRC, which is "crc32c":"0123cdef" in the JSON
	HasCRC        bool
}

// A Tensor is a view of a storage.
type Tensor struct {
	Name           string
	Storage        int
	Shape, Strides []int // strides are nil in row-major order
	Offset         int   // of the first element, in elements
	Attrs          map[string]any
}

// Parse reads a list, whose members may be in any order.
func Parse(text string) (*Header, error) {
	h := &Header{Meta: map[string]string{}}
	p := jsontext.New(text)
	seen := 0
	p.Object(func(key string) {
		seen++
		switch key {
		case "metadata":
			h.Meta = p.Strings()
		case "storages":
			p.Array(func() { h.Storages = append(h.Storages, parseStorage(p)) })
		case "tensors":
			p.Object(func(name string) {
				if len(name) > MaxName {
					p.Fail("a name of %d bytes; at most %d are allowed", len(name), MaxName)
				}
				if h.Tensors = append(h.Tensors, parseTensor(p, name)); len(h.Tensors) > MaxTensors {
					p.Fail("more than %d tensors", MaxTensors)
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

func parseStorage(p *jsontext.Parser) (s Storage) {
	seen := 0
	p.Object(func(key string) {
		seen++
		switch key {
		case "dtype":
			s.DType = p.String()
		case "offset":
			s.Offset = p.Int()
		case "nbytes":
			s.Bytes = p.Int()
		case "crc32c":
			seen--
			text := p.String()
			n, err := strconv.ParseUint(text, 16, 32)
			if err != nil || len(text) != 8 {
				p.Fail("checksum %q is not of 8 hexadecimal digits", text)
			}
			s.CRC32C, s.HasCRC = uint32(n), true
		default:
			p.Fail("unknown key %q of a storage", key)
		}
	})
	if seen != 3 {
		p.Fail("a storage without dtype, offset or nbytes")
	}
	return s
}

func parseTensor(p *jsontext.Parser, name string) Tensor {
	t := Tensor{Name: name, Storage: -1}
	p.Object(func(key string) {
		switch key {
		case "storage":
			t.Storage = p.Int()
		case "shape":
			t.Shape = p.Ints()
		case "strides":
			t.Strides = p.Ints()
		case "offset":
			t.Offset = p.Int()
		case "attributes":
			t.Attrs = map[string]any{}
			p.Object(func(name string) { t.Attrs[name] = parseAttribute(p) })
		default:
			p.Fail("%q: unknown key %q", name, key)
		}
	})
	if t.Storage < 0 || t.Shape == nil {
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
	elems, _ := a.Bytes()
	copy(elems, b)
	serialize.NormalizeBytes(elems, t, binary.LittleEndian)
	return a, nil
}

// Users returns the tensors of storage k of a list that was checked.
func (h *Header) Users(k int) []Tensor {
	users := make([]Tensor, len(h.users[k]))
	for i, tensor := range h.users[k] {
		users[i] = h.Tensors[tensor]
	}
	return users
}

// Name returns the name of the first tensor of a storage, or "" for a storage without tensors.
func (h *Header) Name(k int) string {
	if len(h.users[k]) == 0 {
		return ""
	}
	return h.Tensors[h.users[k][0]].Name
}

// An element is a type of elements that package dtype has no type for. Arrays of them are
// listed and not read.
type element struct {
	name string
	bits int
}

var otherElements = []element{
	{"int4", 4}, {"uint4", 4}, {"float4_e2m1", 4}, {"float6_e2m3", 6}, {"float6_e3m2", 6},
	{"float8_e8m0", 8}, {"float8_e4m3fnuz", 8}, {"float8_e5m2fnuz", 8},
}

// elementBits returns the bits of an element of a type.
func elementBits(name string) (int, bool) {
	if t, err := dtype.Parse(name); err == nil {
		return 8 * t.Size(), true
	}
	i := slices.IndexFunc(otherElements, func(e element) bool { return e.name == name })
	if i < 0 {
		return 0, false
	}
	return otherElements[i].bits, true
}

// Check returns an error if tensors have no storage, or storages are of unknown types, end
// within an element, overlap, or are not between the offsets start and end; each is followed
// by gap bytes of its own. align returns what the offset of a storage of n bytes must be a
// multiple of.
func (h *Header) Check(start, end, gap int, align func(n int) int) error {
	at := start
	for i, s := range h.Storages {
		bits, known := elementBits(s.DType)
		switch {
		case !known:
			return fmt.Errorf("storage %d: unknown elements %q: %w", i, s.DType, dtype.ErrType)
		case s.Offset < at:
			return fmt.Errorf("storage %d begins at %d, before the end of the one before it at %d: %w", i, s.Offset, at, storage.ErrState)
		case s.Offset%align(s.Bytes) != 0:
			return fmt.Errorf("storage %d of %d bytes begins at %d, which is not a multiple of %d: %w", i, s.Bytes, s.Offset, align(s.Bytes), storage.ErrState)
		case s.Bytes > end-gap || s.Offset > end-gap-s.Bytes:
			return fmt.Errorf("storage %d of %d bytes at %d reaches outside of the file: %w", i, s.Bytes, s.Offset, storage.ErrState)
		case bits >= 8 && s.Bytes%(bits/8) != 0:
			return fmt.Errorf("storage %d has %d bytes, not a whole number of elements of type %s: %w", i, s.Bytes, s.DType, storage.ErrState)
		}
		at = s.Offset + s.Bytes + gap
	}
	h.users = make([][]int, len(h.Storages))
	for i, t := range h.Tensors {
		if t.Storage >= len(h.Storages) {
			return fmt.Errorf("%q: storage %d of %d: %w", t.Name, t.Storage, len(h.Storages), storage.ErrState)
		}
		h.users[t.Storage] = append(h.users[t.Storage], i)
	}
	return nil
}

// Entry returns tensor t of a list that was checked as a view of the elements of its storage,
// which data are.
func (h *Header) Entry(in serialize.Input, t Tensor, data storage.Storage) (serialize.Entry, error) {
	s := h.Storages[t.Storage]
	typ, err := dtype.Parse(s.DType)
	if err != nil {
		return serialize.Unsupported(t.Name, t.Shape, s.DType)
	}
	e := serialize.Entry{Name: t.Name, Attrs: t.Attrs}
	if len(h.users[t.Storage]) > 1 {
		e.Shared = strconv.Itoa(t.Storage)
	}
	strides := t.Strides
	if strides == nil {
		strides = views.Of(t.Shape...).Stride
	}
	view, err := in.View(typ, t.Shape, strides, t.Offset, s.Bytes)
	if err != nil {
		return e, err
	}
	e.Array = storage.Array{Data: data, Type: typ, View: view}
	return e, nil
}
