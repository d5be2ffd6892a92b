package tensor

import (
	"reflect"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// New returns a constant with the elements of a literal: a number, a bool, or nested slices or arrays of them, all of one
// kind, such as [][]float64{{1, 2}, {3, 4}} or []any{1, 2}. As in PyTorch ints become int64, floats float32, bools bool
// and complex numbers complex64; numbers of a type with a size in its name, but float64 and complex128, which are the
// types of Go's literals, keep it. A type after the literal converts to that. Elements are copied: FromSlice shares a
// slice, and keeps its type.
func New(literal any, as ...dtype.Type) *Tensor {
	const act = "new"
	l := literalOf{act: act}
	l.read(reflect.ValueOf(literal), 0)
	if l.kind == reflect.Invalid {
		fail(act, ErrType, "%T has no numbers that tell a type; use Zeros", literal)
	}
	t, elems := l.array()
	if len(as) > 0 {
		t = as[0]
	}
	dst := empty(act, t, l.shape)
	if t.IsInt() && elems.Type.IsInt() {
		bytes, _ := elems.Bytes()
		if err := dtype.ConvertChecked(make([]byte, elems.Len()*t.Size()), t, bytes, elems.Type); err != nil {
			check(act, err)
		}
	}
	check(act, elems.With(views.Of(l.shape...)).CopyTo(dst.array))
	return dst
}

// A literalOf collects the elements of a literal.
type literalOf struct {
	act    string
	shape  []int
	deep   bool // whether an element was found, at the depth of all
	kind   reflect.Kind
	ints   []int64
	uints  []uint64
	floats []float64
	bools  []bool
	pairs  []complex128
}

func (l *literalOf) read(v reflect.Value, depth int) {
	if v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.IsValid() && (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) {
		switch {
		case depth == len(l.shape) && !l.deep:
			l.shape = append(l.shape, v.Len())
		case depth >= len(l.shape) || l.shape[depth] != v.Len():
			fail(l.act, ErrShape, "a ragged literal: %d elements along axis %d of %v", v.Len(), depth, l.shape)
		}
		if v.Len() == 0 {
			l.empty(v.Type().Elem())
		}
		for i := range v.Len() {
			l.read(v.Index(i), depth+1)
		}
		return
	}
	if !v.IsValid() {
		fail(l.act, ErrType, "nil in a literal; want numbers and bools")
	}
	if v.Type().PkgPath() != "" {
		fail(l.act, ErrType, "%v in a literal; want numbers and bools of Go's own types", v.Type())
	}
	if depth != len(l.shape) {
		fail(l.act, ErrShape, "a ragged literal: an element where axis %d should be", depth)
	}
	if l.deep = true; l.kind == reflect.Invalid {
		l.kind = v.Kind()
	}
	if l.kind != v.Kind() {
		fail(l.act, ErrType, "%v and %v in one literal; want one kind of number", l.kind, v.Kind())
	}
	l.add(v)
}

// empty learns the type and the axes of a slice without elements.
func (l *literalOf) empty(elem reflect.Type) {
	for ; elem.Kind() == reflect.Slice || elem.Kind() == reflect.Array; elem = elem.Elem() {
		l.shape = append(l.shape, 0)
	}
	if elem.Kind() != reflect.Interface && elem.PkgPath() == "" {
		l.kind, l.deep = elem.Kind(), true
	}
}

func (l *literalOf) add(v reflect.Value) {
	switch {
	case v.CanInt():
		l.ints = append(l.ints, v.Int())
	case v.CanUint():
		l.uints = append(l.uints, v.Uint())
	case v.CanFloat():
		l.floats = append(l.floats, v.Float())
	case v.CanComplex():
		l.pairs = append(l.pairs, v.Complex())
	case v.Kind() == reflect.Bool:
		l.bools = append(l.bools, v.Bool())
	default:
		fail(l.act, ErrType, "%v in a literal; want numbers and bools", v.Type())
	}
}

// literalTypes are the types of the kinds.
var literalTypes = map[reflect.Kind]dtype.Type{
	reflect.Int: dtype.Int64, reflect.Int8: dtype.Int8, reflect.Int16: dtype.Int16, reflect.Int32: dtype.Int32, reflect.Int64: dtype.Int64,
	reflect.Uint: dtype.Uint64, reflect.Uint8: dtype.Uint8, reflect.Uint16: dtype.Uint16, reflect.Uint32: dtype.Uint32, reflect.Uint64: dtype.Uint64,
	reflect.Float32: dtype.Float32, reflect.Float64: dtype.Float32, reflect.Complex64: dtype.Complex64, reflect.Complex128: dtype.Complex64,
	reflect.Bool: dtype.Bool,
}

// array returns the type of the literal and its elements, in the widest type of their kind.
func (l *literalOf) array() (dtype.Type, storage.Array) {
	t, ok := literalTypes[l.kind]
	if !ok {
		fail(l.act, ErrType, "a literal of %v; want numbers and bools", l.kind)
	}
	switch {
	case t == dtype.Bool:
		return t, storage.From(l.bools, len(l.bools))
	case t.IsComplex():
		return t, storage.From(l.pairs, len(l.pairs))
	case t.IsFloat():
		return t, storage.From(l.floats, len(l.floats))
	case t.IsSigned():
		return t, storage.From(l.ints, len(l.ints))
	}
	return t, storage.From(l.uints, len(l.uints))
}

// FromInts is FromSlice of Go's ints, as int64; it shares elems.
func FromInts(elems []int, shape ...int) *Tensor {
	return FromSlice(unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(elems))), len(elems)), shape...)
}
