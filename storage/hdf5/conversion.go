package hdf5

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// A conversion converts stored elements to the numbers of an array. The results are those
// of h5py and NumPy.
type conversion struct {
	to      dtype.Type
	size    int                   // of a stored number, in bytes
	dims    []int                 // of elements that are arrays
	convert func(dst, src []byte) // converts contiguous numbers; nil if no conversion is needed
}

// write converts contiguous numbers.
func (n conversion) write(dst, src []byte) {
	if n.convert == nil {
		copy(dst, src)
		return
	}
	n.convert(dst, src)
}

// DType returns the number type of elements of type t and, for elements that are arrays,
// their shape. It fails for types that are not numeric, such as strings and compounds.
func (t *Type) DType() (dtype.Type, []int, error) {
	n, err := t.conversion()
	return n.to, n.dims, err
}

// conversion returns the conversion of elements of type t to numbers.
func (t *Type) conversion() (conversion, error) {
	switch t.Class {
	case ClassInteger, ClassBitfield:
		return t.integer()
	case ClassFloat:
		return t.float()
	case ClassEnum:
		return t.enum()
	case ClassComplex:
		return t.complex(t.Base)
	case ClassCompound:
		if m := t.Members; len(m) == 2 && isComplex(m[0].Name, m[1].Name) && m[0].Offset == 0 &&
			2*m[1].Offset == t.Size && m[0].Type.Class == ClassFloat && sameFloat(m[0].Type, m[1].Type) {
			return t.complex(m[0].Type)
		}
	case ClassArray:
		n, err := t.Base.conversion()
		n.dims = slices.Concat(t.Dims, n.dims)
		return n, err
	}
	return conversion{}, fmt.Errorf("%v elements are not numbers: %w", t.Class, dtype.ErrType)
}

// isComplex reports whether members with these names are a complex number, of h5py or of
// MATLAB.
func isComplex(first, second string) bool {
	return first == "r" && second == "i" || first == "real" && second == "imag"
}

func sameFloat(a, b *Type) bool {
	return b.Class == ClassFloat && a.Size == b.Size && a.BigEndian == b.BigEndian && a.Float == b.Float
}

// integers maps signedness and size to integer types.
var integers = map[bool]map[int]dtype.Type{
	false: {1: dtype.Uint8, 2: dtype.Uint16, 4: dtype.Uint32, 8: dtype.Uint64},
	true:  {1: dtype.Int8, 2: dtype.Int16, 4: dtype.Int32, 8: dtype.Int64},
}

// integer selects the type of the stored size or else the smallest type that
// holds the significant bits.
func (t *Type) integer() (conversion, error) {
	to, exact := integers[t.Signed][t.Size]
	if exact && t.Precision == 8*t.Size {
		return conversion{to: to, size: t.Size, convert: t.swap(t.Size)}, nil
	}
	for size := 1; !exact && size <= 8; size *= 2 {
		if t.Precision <= 8*size {
			to, exact = integers[t.Signed][size], true
		}
	}
	if !exact {
		return conversion{}, fmt.Errorf("integers of %d bits are larger than any element type: %w", t.Precision, dtype.ErrType)
	}
	return conversion{to: to, size: t.Size, convert: t.unpackIntegers(to.Size())}, nil
}

// swap returns a function that converts to the machine's byte order, or nil.
func (t *Type) swap(size int) func(dst, src []byte) {
	if !t.BigEndian || size == 1 {
		return nil
	}
	return func(dst, src []byte) { storage.ReverseBytes(dst[:len(src)], src, size) }
}

// unpackIntegers returns a function that converts integers with unused bits to integers of
// the given size.
func (t *Type) unpackIntegers(size int) func(dst, src []byte) {
	return func(dst, src []byte) {
		for len(src) >= t.Size {
			x := t.bits(src[:t.Size], t.BitOffset, t.Precision)
			if unused := 64 - t.Precision; t.Signed && unused > 0 {
				x = uint64(int64(x<<unused) >> unused)
			}
			putUint(dst[:size], x)
			dst, src = dst[size:], src[t.Size:]
		}
	}
}

// bits returns n bits of an element, at most 64, counted from its lowest.
func (t *Type) bits(element []byte, from, n int) uint64 {
	var x uint64
	for k := 0; k < n; {
		at := from + k
		index := at / 8
		switch {
		case t.Float.VAX: // 16-bit words, highest first, each with its low byte first
			index = len(element) - 2 - index&^1 + index&1
		case t.BigEndian:
			index = len(element) - 1 - index
		}
		take := min(8-at%8, n-k)
		x |= uint64(element[index]>>(at%8)&(1<<take-1)) << k
		k += take
	}
	return x
}

func putUint(dst []byte, x uint64) {
	for k := range dst {
		dst[k] = byte(x >> (8 * k))
	}
}

// standardFloats are the layouts of the floating-point types of arrays.
var standardFloats = map[FloatBits]struct {
	size int
	to   dtype.Type
}{
	{Sign: 15, Exponent: 10, ExpSize: 5, MantSize: 10, Bias: 15, Normalization: 2}:    {2, dtype.Float16},
	{Sign: 15, Exponent: 7, ExpSize: 8, MantSize: 7, Bias: 127, Normalization: 2}:     {2, dtype.BFloat16},
	{Sign: 31, Exponent: 23, ExpSize: 8, MantSize: 23, Bias: 127, Normalization: 2}:   {4, dtype.Float32},
	{Sign: 63, Exponent: 52, ExpSize: 11, MantSize: 52, Bias: 1023, Normalization: 2}: {8, dtype.Float64},
	{Sign: 7, Exponent: 3, ExpSize: 4, MantSize: 3, Bias: 7, Normalization: 2}:        {1, dtype.Float8E4M3},
	{Sign: 7, Exponent: 2, ExpSize: 5, MantSize: 2, Bias: 15, Normalization: 2}:       {1, dtype.Float8E5M2},
}

// float selects the type of the stored layout or else the smaller of float32
// and float64 that holds all values. Wider types, such as long double, are rounded to
// float64.
func (t *Type) float() (conversion, error) {
	if s, ok := standardFloats[t.Float]; ok && s.size == t.Size {
		return conversion{to: s.to, size: t.Size, convert: t.swap(t.Size)}, nil
	}
	f := t.Float
	if f.Normalization > 2 || f.ExpSize > 32 || f.VAX && t.Size%2 != 0 {
		return conversion{}, fmt.Errorf("floats with this layout of bits are not supported: %w", dtype.ErrType)
	}
	to := dtype.Float64
	if top := int64(1)<<f.ExpSize - 2 - int64(f.Bias); f.MantSize <= 23 && top <= 127 && f.Bias <= 126+23-f.MantSize {
		to = dtype.Float32
	}
	return conversion{to: to, size: t.Size, convert: t.unpackFloats(to)}, nil
}

// exceeds64 reports whether a float has more digits or a larger range than float64.
func (t *Type) exceeds64() bool {
	f := t.Float
	return f.MantSize > 52 || int64(1)<<f.ExpSize-1-int64(f.Bias) > 1024 || 1-f.Bias < -1022
}

func (t *Type) unpackFloats(to dtype.Type) func(dst, src []byte) {
	return func(dst, src []byte) {
		for len(src) >= t.Size {
			x := t.floatOf(src[:t.Size])
			if to == dtype.Float32 {
				binary.LittleEndian.PutUint32(dst, math.Float32bits(float32(x)))
			} else {
				binary.LittleEndian.PutUint64(dst, math.Float64bits(x))
			}
			dst, src = dst[to.Size():], src[t.Size:]
		}
	}
}

// floatOf returns the value of a float of any layout: ±mantissa · 2^(exponent - bias),
// subnormal if the exponent is zero. VAX floats have no subnormal numbers or infinities.
func (t *Type) floatOf(element []byte) float64 {
	f := t.Float
	exponent := t.bits(element, f.Exponent, f.ExpSize)
	// 62 bits of the mantissa, the last of which is set if any lower bit is, so that the
	// result is rounded once, correctly.
	keep := min(f.MantSize, 62)
	mantissa := t.bits(element, f.Mantissa+f.MantSize-keep, keep)
	for k := 0; k < f.MantSize-keep; k += 64 {
		if t.bits(element, f.Mantissa+k, min(64, f.MantSize-keep-k)) != 0 {
			mantissa |= 1
		}
	}
	var x float64
	fraction := keep // bits of the mantissa after the point
	if f.Normalization != 2 {
		fraction--
	}
	switch {
	case f.VAX && exponent == 0:
		x = 0
	case !f.VAX && exponent == 1<<f.ExpSize-1 && mantissa&(1<<fraction-1) == 0:
		x = math.Inf(1)
	case !f.VAX && exponent == 1<<f.ExpSize-1:
		x = math.NaN()
	case exponent == 0:
		x = math.Ldexp(float64(mantissa), 1-f.Bias-fraction)
	default:
		if f.Normalization == 2 {
			mantissa |= 1 << fraction
		}
		x = math.Ldexp(float64(mantissa), int(exponent)-f.Bias-fraction)
	}
	if t.bits(element, f.Sign, 1) != 0 {
		x = math.Copysign(x, -1)
	}
	return x
}

// enum selects the integers of the base type, or bool if the names are those of h5py's bool.
func (t *Type) enum() (conversion, error) {
	if t.isBool() {
		return conversion{to: dtype.Bool, size: 1, convert: toBools}, nil
	}
	return t.Base.integer()
}

func (t *Type) isBool() bool {
	return t.Class == ClassEnum && t.Size == 1 && len(t.Names) == 2 &&
		(t.Names[0] == "FALSE" && t.Names[1] == "TRUE" && t.Values[0][0] == 0 && t.Values[1][0] == 1 ||
			t.Names[0] == "TRUE" && t.Names[1] == "FALSE" && t.Values[0][0] == 1 && t.Values[1][0] == 0)
}

// toBools converts nonzero bytes to 1.
func toBools(dst, src []byte) {
	for k, b := range src {
		dst[k] = min(b, 1)
	}
}

func (t *Type) complex(part *Type) (conversion, error) {
	n, err := part.float()
	switch {
	case err != nil:
		return n, err
	case n.to == dtype.Float32 && n.size == 4:
		n.to = dtype.Complex64
	case n.to == dtype.Float64 && n.size == 8:
		n.to = dtype.Complex128
	default:
		return conversion{}, fmt.Errorf("complex numbers of %d bytes are not supported: %w", 2*part.Size, dtype.ErrType)
	}
	n.size *= 2
	return n, nil
}
