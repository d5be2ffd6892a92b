package hdf5write

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"
)

// Bytes is a list of strings that is marked as ASCII, as h5py marks Python's bytes.
type Bytes []string

// An Attr is an attribute to write. Its value is a number, a bool, a string, a slice
// of one of these, Bytes, a storage.Array, or nil for an attribute without a value.
type Attr struct {
	Name  string
	Value any
}

// SetAttr sets an attribute of the object at path. It replaces an attribute of the
// same name.
func (w *Writer) SetAttr(path, name string, value any) error {
	err := checkNoNUL("attribute", name)
	if name == "" {
		err = errors.New("attributes need a name")
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
		return w.do("set attribute of", path, func() error {
			t, err := libhdf5.Type(dtype.Float32)
			if err != nil {
				return err
			}
			return w.file.Attr(path, name, t, nil, nil)
		})
	case string:
		return w.stringAttr(path, name, []string{v}, nil, false)
	case []string:
		return w.stringAttr(path, name, v, []int{len(v)}, false)
	case Bytes:
		return w.stringAttr(path, name, v, []int{len(v)}, true)
	case storage.Array:
		return w.numericAttr(path, name, v)
	}
	a, err := arrayOf(value)
	if err != nil {
		return err
	}
	return w.numericAttr(path, name, a)
}

func (w *Writer) stringAttr(path, name string, list []string, shape []int, ascii bool) error {
	text, err := terminated(list)
	if err != nil {
		return err
	}
	return w.do("set attribute of", path, func() error { return w.file.StringAttr(path, name, shape, text, ascii) })
}

func (w *Writer) numericAttr(path, name string, a storage.Array) error {
	t, err := libhdf5.Type(a.Type)
	if err != nil {
		return err
	}
	data, err := bytesOf(a)
	if err != nil {
		return err
	}
	shape := append([]int{}, a.Shape...) // not nil, which would be a null attribute
	return w.do("set attribute of", path, func() error { return w.file.Attr(path, name, t, shape, data) })
}

// goTypes maps Go types to the element types of arrays. int and uint have 64 bits on
// every supported system.
var goTypes = map[reflect.Type]dtype.Type{
	reflect.TypeFor[int]():  dtype.Int64,
	reflect.TypeFor[uint](): dtype.Uint64,
}

func init() {
	addGoType[bool]()
	addGoType[uint8]()
	addGoType[uint16]()
	addGoType[uint32]()
	addGoType[uint64]()
	addGoType[int8]()
	addGoType[int16]()
	addGoType[int32]()
	addGoType[int64]()
	addGoType[float32]()
	addGoType[float64]()
	addGoType[complex64]()
	addGoType[complex128]()
	addGoType[dtype.F16]()
	addGoType[dtype.BF16]()
	addGoType[dtype.F8E4M3]()
	addGoType[dtype.F8E5M2]()
}

func addGoType[T dtype.Go]() { goTypes[reflect.TypeFor[T]()] = dtype.Of[T]() }

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
		return storage.Array{}, fmt.Errorf("a Go %T cannot be an attribute: %w", value, dtype.ErrType)
	}
	elems := unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*t.Size())
	a, err := storage.Make(storage.CPU, t, shape...)
	if err != nil {
		return a, err
	}
	copy(a.Data.(storage.Host).Bytes(), elems)
	return a, nil
}

// terminated joins strings, each terminated by NUL, as package libhdf5 takes them.
func terminated(list []string) ([]byte, error) {
	var text []byte
	for _, s := range list {
		if err := checkNoNUL("string", s); err != nil {
			return nil, err
		}
		text = append(append(text, s...), 0)
	}
	return text, nil
}
