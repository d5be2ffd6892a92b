// Package dtype names the types of array elements.
package dtype

import (
	"errors"
	"fmt"
	"unsafe"
)

// A Type is an element type as files and devices know it.
type Type uint8

const (
	Invalid Type = iota
	Float32
	Float64
	Int64
	Uint8
)

var types = [...]struct {
	name string
	size int
}{
	Invalid: {"invalid", 0},
	Float32: {"float32", 4},
	Float64: {"float64", 8},
	Int64:   {"int64", 8},
	Uint8:   {"uint8", 1},
}

// Size returns the number of bytes in one element.
func (t Type) Size() int { return types[t].size }

func (t Type) String() string { return types[t].name }

// Parse returns the Type whose String is name.
func Parse(name string) (Type, error) {
	for t, known := range types {
		if known.name == name && t != 0 {
			return Type(t), nil
		}
	}
	return Invalid, fmt.Errorf("dtype: unknown type %q", name)
}

// Go lists the Go types that hold one element exactly as it is stored.
type Go interface {
	float32 | float64 | int64 | uint8
}

// Float lists the Go types that derivatives make sense for.
type Float interface {
	float32 | float64
}

// Of returns the Type stored as T.
func Of[T Go]() Type {
	var zero T
	switch any(zero).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case int64:
		return Int64
	default:
		return Uint8
	}
}

// Cast reinterprets the bytes of b as elements of type T.
func Cast[T Go](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(zero)))
}

// ErrType is the kind of error, for errors.Is, of an element type that does not fit.
var ErrType = errors.New("wrong type")
