package hdf5stream

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

func (f *File) attributeMessages(b []byte, list []Attr) ([]byte, error) {
	for _, a := range list {
		body, err := f.attribute(a)
		if err == nil {
			b, err = message(b, messageAttribute, body)
		}
		if err != nil {
			return b, fmt.Errorf("attribute %s: %w", a.Name, err)
		}
	}
	return b, nil
}

// attribute encodes an attribute.
//
//	| 3 | 0 | sizes of name, datatype and dataspace (2 each) | 1 UTF-8 | name 0 | datatype | dataspace | value |
func (f *File) attribute(a Attr) ([]byte, error) {
	typ, shape, value, err := f.attributeValue(a.Value)
	if err != nil {
		return nil, err
	}
	space := dataspace(shape)
	b := []byte{3, 0}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(a.Name)+1))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(typ)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(space)))
	b = append(append(append(b, 1), a.Name...), 0)
	return append(append(append(b, typ...), space...), value...), nil
}

func (f *File) attributeValue(value any) (typ []byte, shape []int, b []byte, err error) {
	switch v := value.(type) {
	case string:
		return text(), []int{}, f.heap.text(v), nil
	case []string:
		for _, s := range v {
			b = append(b, f.heap.text(s)...)
		}
		return text(), []int{len(v)}, b, nil
	case *Dataset:
		return reference(), []int{}, binary.LittleEndian.AppendUint64(nil, v.at), nil
	case uint32:
		typ, err = datatype(dtype.Uint32)
		return typ, []int{}, binary.LittleEndian.AppendUint32(nil, v), err
	case storage.Array:
		if typ, err = datatype(v.Type); err != nil {
			return nil, nil, nil, err
		}
		var elements bytes.Buffer
		if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
			return nil, nil, nil, fmt.Errorf("attributes are written on little-endian machines only: %w", storage.ErrState)
		}
		_, err = v.WriteTo(&elements)
		return typ, append([]int{}, v.Shape...), elements.Bytes(), err
	}
	return nil, nil, nil, fmt.Errorf("a value of type %T: %w", value, dtype.ErrType)
}

// A globalHeap has the strings of attributes, in one collection:
//
//	| GCOL | 1 | 0 0 0 | size (8) | objects … |
//	an object: | index (2) | references (2) | 0 (4) | size (8) | bytes, padded to 8 |
type globalHeap struct {
	at      uint64
	known   map[string]int // strings and their indexes
	objects []byte
}

const maxHeapSize = 4096

func (h *globalHeap) place(at uint64) { h.at = at }

// text returns the reference to a string: | length (4) | address (8) | index (4) |.
func (h *globalHeap) text(s string) []byte {
	if s == "" {
		return make([]byte, 16) // a null reference is the empty string
	}
	k, ok := h.known[s]
	if !ok {
		if h.known == nil {
			h.known = map[string]int{}
		}
		k = len(h.known) + 1
		h.known[s] = k
		h.objects = binary.LittleEndian.AppendUint16(h.objects, uint16(k))
		h.objects = append(h.objects, 1, 0, 0, 0, 0, 0)
		h.objects = binary.LittleEndian.AppendUint64(h.objects, uint64(len(s)))
		h.objects = append(h.objects, s...)
		h.objects = append(h.objects, make([]byte, -len(s)&7)...)
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(s)))
	b = binary.LittleEndian.AppendUint64(b, h.at)
	return binary.LittleEndian.AppendUint32(b, uint32(k))
}

// encode writes the collection, which libhdf5 wants to have 4096 bytes at least. What is
// free is object 0.
func (h *globalHeap) encode(e *encoder) error {
	if len(h.known) == 0 {
		return nil
	}
	size := max(maxHeapSize, 16+len(h.objects)+16)
	free := size - 16 - len(h.objects)
	b := append(append(e.scratch, "GCOL"...), 1, 0, 0, 0)
	e.write(binary.LittleEndian.AppendUint64(b, uint64(size)))
	e.writeShared(h.objects)
	b = append(e.scratch, make([]byte, 8)...)
	b = binary.LittleEndian.AppendUint64(b, uint64(free))
	e.write(append(b, make([]byte, free-16)...))
	return nil
}
