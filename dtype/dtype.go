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
// in the byte order of the machine. Types are compared with ==.
//
// A Type is a struct, so that no constant converts to it: a size that stands in a
// type's place does not compile.
type Type struct{ number uint8 } // the index into types

// The types.
var (
	Invalid  = Type{0} // of no elements: the zero Type
	Bool     = Type{1} // one byte, 0 or 1
	Uint8    = Type{2}
	Uint16   = Type{3}
	Uint32   = Type{4}
	Uint64   = Type{5}
	Int8     = Type{6}
	Int16    = Type{7}
	Int32    = Type{8}
	Int64    = Type{9}
	Float16  = Type{10} // IEEE 754 binary16
	BFloat16 = Type{11} // the upper half of a float32
	Float32  = Type{12}
	Float64  = Type{13}

	Complex64  = Type{14} // two float32s: real, imaginary
	Complex128 = Type{15} // two float64s: real, imaginary

	// Types for storage, not for computation (arXiv:2209.05433).

	Float8E4M3 = Type{16} // no infinities, largest 448
	Float8E5M2 = Type{17} // as float16 with a shorter fraction, largest 57344
)

// Number returns the number by which kernels/device/types.cuh knows t, distinct for each
// type and less than 256. Files name types instead.
func (t Type) Number() int { return int(t.number) }

// count is the number of types, with Invalid.
const count = 18

type kind uint8

const (
	boolean kind = iota + 1
	unsigned
	signed
	float
	complx
)

// types describes each type, in the order of their numbers.
var types = [count]struct {
	name string
	size int
	kind kind
}{
	{"invalid", 0, 0},
	{"bool", 1, boolean},
	{"uint8", 1, unsigned},
	{"uint16", 2, unsigned},
	{"uint32", 4, unsigned},
	{"uint64", 8, unsigned},
	{"int8", 1, signed},
	{"int16", 2, signed},
	{"int32", 4, signed},
	{"int64", 8, signed},
	{"float16", 2, float},
	{"bfloat16", 2, float},
	{"float32", 4, float},
	{"float64", 8, float},
	{"complex64", 8, complx},
	{"complex128", 16, complx},
	{"float8_e4m3fn", 1, float},
	{"float8_e5m2", 1, float},
}

// ErrType is the kind of error, for errors.Is, of an element type that is not valid.
var ErrType = errors.New("wrong type")

// All lists every valid Type.
func All() []Type {
	all := make([]Type, 0, len(types)-1)
	for number := 1; number < count; number++ {
		all = append(all, Type{uint8(number)})
	}
	return all
}

// Parse returns the Type whose String is name.
func Parse(name string) (Type, error) {
	for _, t := range All() {
		if types[t.number].name == name {
			return t, nil
		}
	}
	return Invalid, fmt.Errorf("unknown type %q; known are %v: %w", name, All(), ErrType)
}

// String returns the name of t in NumPy, or in PyTorch if NumPy has no such type.
func (t Type) String() string {
	return types[t.number].name
}

func (t Type) kind() kind {
	return types[t.number].kind
}

// Size returns the number of bytes in an element, 0 if t is not valid.
func (t Type) Size() int {
	return types[t.number].size
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
