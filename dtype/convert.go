package dtype

import (
	"fmt"
	"math"
	"unsafe"
)

// Convert writes the elements of src, of type from, to dst as type to, in the
// manner of NumPy's astype:
//
//	to bool       false for zero, true for all else, NaN included
//	to an integer wraps modulo 2ⁿ; fractions are cut off towards zero
//	to a float    rounds to nearest, ties to even; beyond the largest lies infinity
//	              (in float8_e4m3fn, which has none, NaN)
//	to a complex  the imaginary part is 0;  from a complex it is dropped
//
// For floats without an integer value in range, C does not define the result. Here
// it is the result of NumPy on x86, on every machine: NaN, infinities and values
// outside int64 become −2⁶³, which is 0 in uint32 and 2⁶³ in uint64, but 0 from 2⁶⁴
// on; in types of 32 bits and fewer, except uint32, values outside int32 become −2³¹,
// which is 0 in 8 and 16 bits.
//
// The bytes need no alignment. dst and src must hold equally many elements and
// must not overlap.
func Convert(dst []byte, to Type, src []byte, from Type) error {
	if err := fits(dst, to, src, from); err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	if to == from {
		copy(dst, src)
		return nil
	}
	if f := direct.At(to)[from]; f != nil && Aligned(dst, to) && Aligned(src, from) {
		f(dst, src)
		return nil
	}
	convertRows(dst, to, src, from, wrapping)
	return nil
}

// Saturate is Convert, except that values out of range become the nearest one:
//
//	to an integer rounds to nearest, ties to even, and clamps; NaN is 0
//	to a float    rounds to nearest, ties to even, and clamps to the largest
//	              finite value; infinities stay if the type has them
//
// Everything else is as in Convert.
func Saturate(dst []byte, to Type, src []byte, from Type) error {
	if err := fits(dst, to, src, from); err != nil {
		return fmt.Errorf("saturate: %w", err)
	}
	if to == from {
		copy(dst, src)
		return nil
	}
	convertRows(dst, to, src, from, saturating)
	return nil
}

func fits(dst []byte, to Type, src []byte, from Type) error {
	if !to.Valid() || !from.Valid() {
		return fmt.Errorf("%v to %v: %w", from, to, ErrType)
	}
	if len(src)%from.Size() != 0 || len(dst)%to.Size() != 0 || len(src)/from.Size() != len(dst)/to.Size() {
		return fmt.Errorf("%d bytes of %v cannot be converted to %d bytes of %v: %w", len(src), from, len(dst), to, ErrType)
	}
	return nil
}

// A row is a few elements during conversion, in the widest type of their kind.
type row struct {
	kind kind // unsigned, signed (both in u), float or complx
	n    int
	u    [rowLen]uint64
	f    [rowLen]float64
	im   [rowLen]float64
}

const rowLen = 256

// convertRows converts by way of rows. Elements are copied to aligned memory first.
func convertRows(dst []byte, to Type, src []byte, from Type, narrow *Table[func([]byte, *row)]) {
	var r row
	var in, out [rowLen]complex128 // aligned for every type
	a := unsafe.Slice((*byte)(unsafe.Pointer(&in)), rowLen*from.Size())
	b := unsafe.Slice((*byte)(unsafe.Pointer(&out)), rowLen*to.Size())
	for len(src) > 0 {
		n := copy(a, src)
		r.n = n / from.Size()
		widen.At(from)(&r, a[:n])
		narrow.At(to)(b[:r.n*to.Size()], &r)
		dst = dst[copy(dst, b[:r.n*to.Size()]):]
		src = src[n:]
	}
}

type integer interface {
	uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32 | int64
}

type small interface {
	F16 | BF16 | F8E4M3 | F8E5M2
	Float32() float32
}

var widen = TableOf(map[Type]func(*row, []byte){
	Bool:       widenBool,
	Uint8:      widenInt[uint8],
	Uint16:     widenInt[uint16],
	Uint32:     widenInt[uint32],
	Uint64:     widenInt[uint64],
	Int8:       widenInt[int8],
	Int16:      widenInt[int16],
	Int32:      widenInt[int32],
	Int64:      widenInt[int64],
	Float16:    widenSmall[F16],
	BFloat16:   widenSmall[BF16],
	Float32:    widenFloat[float32],
	Float64:    widenFloat[float64],
	Complex64:  widenComplex64,
	Complex128: widenComplex128,
	Float8E4M3: widenSmall[F8E4M3],
	Float8E5M2: widenSmall[F8E5M2],
})

func widenBool(r *row, src []byte) {
	r.kind = unsigned
	for i, x := range src {
		r.u[i] = 0
		if x != 0 {
			r.u[i] = 1
		}
	}
}

func widenInt[T integer](r *row, src []byte) {
	r.kind = signed
	if Of[T]().IsUnsigned() {
		r.kind = unsigned
	}
	for i, x := range Cast[T](src) {
		r.u[i] = uint64(x)
	}
}

func widenSmall[T small](r *row, src []byte) {
	r.kind = float
	for i, x := range Cast[T](src) {
		r.f[i] = float64(x.Float32())
	}
}

func widenFloat[T Float](r *row, src []byte) {
	r.kind = float
	for i, x := range Cast[T](src) {
		r.f[i] = float64(x)
	}
}

func widenComplex64(r *row, src []byte) {
	r.kind = complx
	for i, x := range Cast[complex64](src) {
		r.f[i], r.im[i] = float64(real(x)), float64(imag(x))
	}
}

func widenComplex128(r *row, src []byte) {
	r.kind = complx
	for i, x := range Cast[complex128](src) {
		r.f[i], r.im[i] = real(x), imag(x)
	}
}

// floats converts integers in r to floats, and drops imaginary parts.
func (r *row) floats() {
	switch r.kind {
	case unsigned:
		for i, x := range r.u[:r.n] {
			r.f[i] = float64(x)
		}
	case signed:
		for i, x := range r.u[:r.n] {
			r.f[i] = float64(int64(x))
		}
	}
	r.kind = float
}

func (r *row) isFloat() bool { return r.kind == float || r.kind == complx }

func toBool(dst []byte, r *row) {
	for i := range dst {
		dst[i] = 0
		if r.isFloat() && (r.f[i] != 0 || r.kind == complx && r.im[i] != 0) || !r.isFloat() && r.u[i] != 0 {
			dst[i] = 1
		}
	}
}

// complexes converts the elements of r to complex numbers.
func (r *row) complexes() {
	if r.kind != complx {
		r.floats() // no imaginary part was ever set
	}
	r.kind = complx
}

func toComplex64(dst []byte, r *row) {
	r.complexes()
	for i := range r.n {
		Cast[complex64](dst)[i] = complex(float32(r.f[i]), float32(r.im[i]))
	}
}

func saturateComplex64(dst []byte, r *row) {
	r.complexes()
	for i := range r.n {
		r.f[i], r.im[i] = within(r.f[i], math.MaxFloat32), within(r.im[i], math.MaxFloat32)
	}
	toComplex64(dst, r)
}

func toComplex128(dst []byte, r *row) {
	r.complexes()
	for i := range r.n {
		Cast[complex128](dst)[i] = complex(r.f[i], r.im[i])
	}
}

// toFloat returns how a row is narrowed to T, one float64 at a time.
func toFloat[T Go](nearest func(float64) T) func([]byte, *row) {
	return func(dst []byte, r *row) {
		r.floats()
		d := Cast[T](dst)
		for i := range d {
			d[i] = nearest(r.f[i])
		}
	}
}

// toInt returns how a row is narrowed to T: whole takes floats to integers,
// fit integers to T.
func toInt[T integer](whole func(float64) T, fit func(x uint64, k kind) T) func([]byte, *row) {
	return func(dst []byte, r *row) {
		d := Cast[T](dst)
		if r.isFloat() {
			for i := range d {
				d[i] = whole(r.f[i])
			}
			return
		}
		for i := range d {
			d[i] = fit(r.u[i], r.kind)
		}
	}
}

var wrapping = TableOf(map[Type]func([]byte, *row){
	Bool:       toBool,
	Uint8:      toInt(truncate32[uint8], wrap[uint8]),
	Uint16:     toInt(truncate32[uint16], wrap[uint16]),
	Uint32:     toInt(truncate64[uint32], wrap[uint32]),
	Uint64:     toInt(truncate64[uint64], wrap[uint64]),
	Int8:       toInt(truncate32[int8], wrap[int8]),
	Int16:      toInt(truncate32[int16], wrap[int16]),
	Int32:      toInt(truncate32[int32], wrap[int32]),
	Int64:      toInt(truncate64[int64], wrap[int64]),
	Float16:    toFloat(func(x float64) F16 { return F16From(odd(x)) }),
	BFloat16:   toFloat(func(x float64) BF16 { return BF16From(odd(x)) }),
	Float32:    toFloat(func(x float64) float32 { return float32(x) }),
	Float64:    toFloat(func(x float64) float64 { return x }),
	Complex64:  toComplex64,
	Complex128: toComplex128,
	Float8E4M3: toFloat(func(x float64) F8E4M3 { return F8E4M3From(odd(x)) }),
	Float8E5M2: toFloat(func(x float64) F8E5M2 { return F8E5M2From(odd(x)) }),
})

var saturating = TableOf(map[Type]func([]byte, *row){
	Bool:       toBool,
	Uint8:      toInt(round[uint8], clamp[uint8]),
	Uint16:     toInt(round[uint16], clamp[uint16]),
	Uint32:     toInt(round[uint32], clamp[uint32]),
	Uint64:     toInt(round[uint64], clamp[uint64]),
	Int8:       toInt(round[int8], clamp[int8]),
	Int16:      toInt(round[int16], clamp[int16]),
	Int32:      toInt(round[int32], clamp[int32]),
	Int64:      toInt(round[int64], clamp[int64]),
	Float16:    toFloat(func(x float64) F16 { return F16From(odd(within(x, 65504))) }),
	BFloat16:   toFloat(func(x float64) BF16 { return BF16From(odd(within(x, 0x1.fep127))) }),
	Float32:    toFloat(func(x float64) float32 { return float32(within(x, math.MaxFloat32)) }),
	Float64:    toFloat(func(x float64) float64 { return x }),
	Complex64:  saturateComplex64,
	Complex128: toComplex128,
	Float8E4M3: toFloat(func(x float64) F8E4M3 { return F8E4M3From(odd(max(-448, min(x, 448)))) }),
	Float8E5M2: toFloat(func(x float64) F8E5M2 { return F8E5M2From(odd(within(x, 57344))) }),
})

// wrap keeps the low bits of x.
func wrap[T integer](x uint64, _ kind) T { return T(x) }

// truncate32 drops the fraction of x by way of int32, truncate64 by way of int64.
func truncate32[T integer](x float64) T {
	if x > -(1<<31) && x < 1<<31 {
		return T(int32(x))
	}
	least := int32(math.MinInt32)
	return T(least)
}

func truncate64[T integer](x float64) T {
	if x >= 1<<63 && Of[T]() == Uint64 {
		if x >= 1<<64 {
			return 0
		}
		return T(uint64(x))
	}
	if x > -(1<<63) && x < 1<<63 {
		return T(int64(x))
	}
	least := int64(math.MinInt64)
	return T(least)
}

// limits returns the least and largest T.
func limits[T integer]() (least, most T) {
	if t := Of[T](); t.IsSigned() {
		least = 1 << (8*t.Size() - 1)
	}
	return least, ^least
}

// round returns the T nearest to x.
func round[T integer](x float64) T {
	least, most := limits[T]()
	switch x = math.RoundToEven(x); {
	case x != x:
		return 0
	case x <= float64(least):
		return least
	case x >= float64(most): // 2⁶³ and 2⁶⁴, which float64(most) may be, included
		return most
	case Of[T]() == Uint64:
		return T(uint64(x))
	}
	return T(int64(x))
}

// clamp returns the T nearest to an integer x of kind k.
func clamp[T integer](x uint64, k kind) T {
	least, most := limits[T]()
	switch {
	case k == signed && int64(x) < 0 && (least == 0 || int64(x) < int64(least)):
		return least
	case (k == unsigned || int64(x) > 0) && x > uint64(most):
		return most
	}
	return T(x)
}

// within clamps x to ±most, except infinities and NaN.
func within(x, most float64) float64 {
	if math.IsInf(x, 0) {
		return x
	}
	return max(-most, min(x, most))
}
