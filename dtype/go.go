package dtype

import (
	"fmt"
	"unsafe"
)

// Go lists the Go types that hold one element exactly as it is stored.
type Go interface {
	bool | uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32 | int64 |
		F16 | BF16 | float32 | float64 | complex64 | complex128 | F8E4M3 | F8E5M2
}

// Float lists the Go types that have gradients.
type Float interface {
	float32 | float64
}

// Of returns the Type stored as T.
func Of[T Go]() Type {
	var zero T
	switch any(zero).(type) {
	case bool:
		return Bool
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case F16:
		return Float16
	case BF16:
		return BFloat16
	case float32:
		return Float32
	case float64:
		return Float64
	case complex64:
		return Complex64
	case complex128:
		return Complex128
	case F8E4M3:
		return Float8E4M3
	default:
		return Float8E5M2
	}
}

// Cast reinterprets the bytes of b as elements of type T, sharing them.
//
// It panics unless b is aligned for T and holds a whole number of elements. The bytes
// of bools must be 0 or 1. Bytes from files should be checked with [Aligned] first, or
// converted with [Convert], which takes any bytes.
func Cast[T Go](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	t := Of[T]()
	if !Aligned(b, t) || len(b)%t.Size() != 0 {
		panic(fmt.Sprintf("dtype: %d bytes at %p are not elements of %v", len(b), &b[0], t))
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/t.Size())
}

// Bytes returns the bytes of elems, sharing them: the inverse of Cast.
func Bytes[T Go](elems []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(elems))), len(elems)*Of[T]().Size())
}

// Aligned reports whether b is aligned for elements of type t.
func Aligned(b []byte, t Type) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(t.Align()) == 0
}
