package hdf5stream

import (
	"encoding/binary"
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
)

// Classes of datatypes, with the version of their encoding.
const (
	classInteger   = 1 << 4
	classFloat     = 1<<4 | 1
	classReference = 1<<4 | 7
	classVarLen    = 1<<4 | 9
	classCompound  = 3<<4 | 6
	classEnum      = 3<<4 | 8
)

// A floatLayout has the positions of the fields of a floating-point type, in bits.
type floatLayout struct{ sign, exponent, exponentSize, mantissa, bias int }

var floats = map[dtype.Type]floatLayout{
	dtype.Float8E5M2: {7, 2, 5, 2, 15},
	dtype.Float16:    {15, 10, 5, 10, 15},
	dtype.BFloat16:   {15, 7, 8, 7, 127},
	dtype.Float32:    {31, 23, 8, 23, 127},
	dtype.Float64:    {63, 52, 11, 52, 1023},
}

// datatype encodes an element type as h5py does: bool as an enum of FALSE and TRUE, complex
// numbers as compounds of r and i. A float8_e4m3fn has values where HDF5 would take it for
// infinite, so there is no HDF5 type for it.
//
//	| class and version | bits (3) | size (4) | properties … |
func datatype(t dtype.Type) ([]byte, error) {
	switch {
	case t == dtype.Bool:
		base, err := datatype(dtype.Int8)
		b := append(class(classEnum, 2, 0, 0, 1), base...)
		return append(b, "FALSE\x00TRUE\x00\x00\x01"...), err
	case t.IsInt():
		return integer(t.Size(), t.IsSigned()), nil
	case t.IsComplex():
		part := dtype.Float32
		if t == dtype.Complex128 {
			part = dtype.Float64
		}
		member, err := datatype(part)
		b := class(classCompound, 2, 0, 0, t.Size())
		b = append(append(b, 'r', 0, 0), member...)
		return append(append(b, 'i', 0, byte(part.Size())), member...), err
	}
	layout, ok := floats[t]
	if !ok {
		return nil, fmt.Errorf("HDF5 has no type for %v: %w", t, dtype.ErrType)
	}
	b := class(classFloat, 2<<4, byte(layout.sign), 0, t.Size()) // the leading 1 of the mantissa is implied
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(8*t.Size()))
	b = append(b, byte(layout.exponent), byte(layout.exponentSize), 0, byte(layout.mantissa))
	return binary.LittleEndian.AppendUint32(b, uint32(layout.bias)), nil
}

func class(kind, bits0, bits1, bits2 byte, size int) []byte {
	return binary.LittleEndian.AppendUint32([]byte{kind, bits0, bits1, bits2}, uint32(size))
}

func integer(size int, signed bool) []byte {
	var bits byte
	if signed {
		bits = 1 << 3
	}
	b := binary.LittleEndian.AppendUint16(class(classInteger, bits, 0, 0, size), 0)
	return binary.LittleEndian.AppendUint16(b, uint16(8*size))
}

// text is the type of strings of any length in UTF-8.
func text() []byte { return append(class(classVarLen, 1, 1, 0, 16), integer(1, false)...) }

// reference is the type of references to objects.
func reference() []byte { return class(classReference, 0, 0, 0, 8) }
