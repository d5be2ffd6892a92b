package hdf5

// #include "shim.h"
import "C"

import (
	"fmt"
	"reflect"
	"unicode/utf8"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// An Attr is an attribute to write. Its value is a number, a bool or a string,
// a slice of one of these, a storage.Array, or nil for an attribute without value.
type Attr struct {
	Name  string
	Value any
}

// SetAttr gives the object at path an attribute, in the place of one that has
// the name already.
func (w *Writer) SetAttr(path, name string, value any) error {
	err := checkNoNUL("attribute", name)
	if name == "" {
		err = fmt.Errorf("attributes need a name")
	}
	if err == nil {
		err = w.setAttr(path, name, value)
	}
	if err != nil {
		return fmt.Errorf("attribute %q: %w", name, err)
	}
	return nil
}

func (w *Writer) setAttr(path, name string, value any) error {
	switch v := value.(type) {
	case nil:
		return w.numericAttr(path, name, storage.Array{Type: dtype.Float32}, -1)
	case string:
		return w.stringAttr(path, name, []string{v}, nil)
	case []string:
		return w.stringAttr(path, name, v, []int{len(v)})
	case storage.Array:
		return w.numericAttr(path, name, v, v.Rank())
	}
	a, err := arrayOf(value)
	if err != nil {
		return err
	}
	return w.numericAttr(path, name, a, a.Rank())
}

func (w *Writer) stringAttr(path, name string, list []string, shape []int) error {
	blob, err := terminated(list)
	if err != nil {
		return err
	}
	_, err = w.call("set attribute of", path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_attr_strings(C.int64_t(w.file.ID()), cString(path), cString(name), C.int(len(shape)), sizes(shape),
			(*C.char)(pointer(blob)), C.size_t(len(blob)), msg, size)
	})
	return err
}

// numericAttr writes a with its own shape, or as a null attribute if rank is -1.
func (w *Writer) numericAttr(path, name string, a storage.Array, rank int) error {
	t, err := typeOf(a.Type)
	if err != nil {
		return err
	}
	var data []byte
	if rank >= 0 {
		if data, err = bytesOf(a); err != nil {
			return err
		}
	}
	_, err = w.call("set attribute of", path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_attr(C.int64_t(w.file.ID()), cString(path), cString(name), C.int64_t(t.ID()), C.int(rank), sizes(a.Shape),
			pointer(data), C.size_t(len(data)), msg, size)
	})
	return err
}

// goTypes maps element types of Go to those of arrays. int and uint have 64 bits
// on every system this package is for.
var goTypes = map[reflect.Type]dtype.Type{
	reflect.TypeFor[int]():  dtype.Int64,
	reflect.TypeFor[uint](): dtype.Uint64,
}

func init() {
	add[bool]()
	add[uint8]()
	add[uint16]()
	add[uint32]()
	add[uint64]()
	add[int8]()
	add[int16]()
	add[int32]()
	add[int64]()
	add[float32]()
	add[float64]()
	add[complex64]()
	add[complex128]()
	add[dtype.F16]()
	add[dtype.BF16]()
	add[dtype.F8E4M3]()
	add[dtype.F8E5M2]()
}

func add[T dtype.Go]() { goTypes[reflect.TypeFor[T]()] = dtype.Of[T]() }

// arrayOf returns a number, or a slice of numbers, as an array.
func arrayOf(value any) (storage.Array, error) {
	v := reflect.ValueOf(value)
	var shape []int
	if v.Kind() == reflect.Slice {
		shape = []int{v.Len()}
	} else {
		one := reflect.MakeSlice(reflect.SliceOf(v.Type()), 1, 1)
		one.Index(0).Set(v)
		v = one
	}
	t, ok := goTypes[v.Type().Elem()]
	if !ok {
		return storage.Array{}, fmt.Errorf("cannot keep a Go %T: %w", value, dtype.ErrType)
	}
	elems := unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*t.Size())
	a, err := storage.Make(storage.CPU, t, shape...)
	if err != nil {
		return a, err
	}
	copy(a.Data.(storage.Host).Bytes(), elems)
	return a, nil
}

// terminated joins strings, each ended by a zero byte, as the shim takes them.
func terminated(list []string) ([]byte, error) {
	var blob []byte
	for _, s := range list {
		if err := checkNoNUL("string", s); err != nil {
			return nil, err
		}
		if !utf8.ValidString(s) {
			return nil, fmt.Errorf("string %q is not UTF-8", s)
		}
		blob = append(append(blob, s...), 0)
	}
	return blob, nil
}
