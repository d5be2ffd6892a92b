// Package dtype defines the types of array elements, their promotion and conversion.
//
// It works on flat sequences of elements. Layouts belong to package views, memory to
// package storage.
package dtype

import (
	"errors"
	"fmt"
)

// A Type is an element type as files and devices know it. Elements are stored
// in the byte order of the machine.
type Type uint8

const (
	Invalid Type = iota // of no elements: the zero Type
	Bool                // one byte, 0 or 1
	Uint8
	Uint16
	Uint32
	Uint64
	Int8
	Int16
	Int32
	Int64
	Float16  // IEEE 754 binary16
	BFloat16 // the upper half of a float32
	Float32
	Float64
	Complex64  // two float32s: real, imaginary
	Complex128 // two float64s: real, imaginary

	// Types for storage, not for computation (arXiv:2209.05433).

	Float8E4M3 // no infinities, largest 448
	Float8E5M2 // as float16 with a shorter fraction, largest 57344
)

type kind uint8

const (
	boolean kind = iota + 1
	unsigned
	signed
	float
	complx
)

var types = [...]struct {
	name string
	size int
	kind kind
}{
	Invalid:    {"invalid", 0, 0},
	Bool:       {"bool", 1, boolean},
	Uint8:      {"uint8", 1, unsigned},
	Uint16:     {"uint16", 2, unsigned},
	Uint32:     {"uint32", 4, unsigned},
	Uint64:     {"uint64", 8, unsigned},
	Int8:       {"int8", 1, signed},
	Int16:      {"int16", 2, signed},
	Int32:      {"int32", 4, signed},
	Int64:      {"int64", 8, signed},
	Float16:    {"float16", 2, float},
	BFloat16:   {"bfloat16", 2, float},
	Float32:    {"float32", 4, float},
	Float64:    {"float64", 8, float},
	Complex64:  {"complex64", 8, complx},
	Complex128: {"complex128", 16, complx},
	Float8E4M3: {"float8_e4m3fn", 1, float},
	Float8E5M2: {"float8_e5m2", 1, float},
}

// ErrType is the kind of error, for errors.Is, of an element type that is not valid.
var ErrType = errors.New("wrong type")

// All lists every valid Type.
func All() []Type {
	all := make([]Type, 0, len(types)-1)
	for t := range types[1:] {
		all = append(all, Type(t+1))
	}
	return all
}

// Parse returns the Type whose String is name.
func Parse(name string) (Type, error) {
	for _, t := range All() {
		if types[t].name == name {
			return t, nil
		}
	}
	return Invalid, fmt.Errorf("unknown type %q; known are %v: %w", name, All(), ErrType)
}

// String returns the name of t in NumPy, or in PyTorch if NumPy has no such type.
func (t Type) String() string {
	if int(t) >= len(types) {
		return fmt.Sprintf("dtype.Type(%d)", uint8(t))
	}
	return types[t].name
}

func (t Type) kind() kind {
	if int(t) >= len(types) {
		return 0
	}
	return types[t].kind
}

// Size returns the number of bytes in an element, 0 if t is not valid.
func (t Type) Size() int {
	if int(t) >= len(types) {
		return 0
	}
	return types[t].size
}

// Align returns the alignment of elements that Cast requires, in bytes.
func (t Type) Align() int {
	if t.IsComplex() {
		return t.Size() / 2
	}
	return max(1, t.Size())
}

// Valid reports whether t is one of the types of this package.
func (t Type) Valid() bool { return t.kind() != 0 }

// IsInt reports whether t is an integer of either sign. Bool is not.
func (t Type) IsInt() bool { return t.kind() == signed || t.kind() == unsigned }

// IsSigned reports whether t is an integer that can be negative.
func (t Type) IsSigned() bool { return t.kind() == signed }

// IsUnsigned reports whether t is an integer that cannot be negative.
func (t Type) IsUnsigned() bool { return t.kind() == unsigned }

// IsFloat reports whether t is a real floating point type.
func (t Type) IsFloat() bool { return t.kind() == float }

// IsComplex reports whether t is Complex64 or Complex128.
func (t Type) IsComplex() bool { return t.kind() == complx }

// StorageOnly reports whether t is a type that no operation computes with.
func (t Type) StorageOnly() bool { return t == Float8E4M3 || t == Float8E5M2 }
