package dtype

import (
	"fmt"
	"math"
	"unsafe"
)

// ConvertChecked is Convert for values that must survive it. The first element
// whose value is lost is an error of kind [ErrType]: one out of range, a fraction
// or a NaN on its way to an integer, an imaginary part on its way to a real type,
// a finite number that becomes infinite. Rounding to the nearest float is no loss.
func ConvertChecked(dst []byte, to Type, src []byte, from Type) error {
	if err := fits(dst, to, src, from); err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	if lossless(to, from) {
		return Convert(dst, to, src, from)
	}
	var c checker
	in := unsafe.Slice((*byte)(unsafe.Pointer(&c.in)), rowLen*from.Size())
	out := unsafe.Slice((*byte)(unsafe.Pointer(&c.out)), rowLen*to.Size())
	for first := 0; len(src) > 0; first += c.before.n {
		n := copy(in, src)
		c.before.n = n / from.Size()
		c.after.n = c.before.n
		widen.At(from)(&c.before, in[:n])
		converted := out[:c.before.n*to.Size()]
		wrapping.At(to)(converted, &c.before)
		widen.At(from)(&c.before, in[:n]) // narrowing has changed it
		widen.At(to)(&c.after, converted)
		for i := range c.before.n {
			if !c.kept(i) {
				return fmt.Errorf("convert %v to %v: element %d is %s, which %v cannot hold: %w", from, to, first+i, c.before.format(i), to, ErrType)
			}
		}
		dst = dst[copy(dst, converted):]
		src = src[n:]
	}
	return nil
}

// lossless reports whether to holds every value of from, up to rounding.
func lossless(to, from Type) bool {
	switch {
	case to == from, from == Bool:
		return true
	case to.IsInt() && from.IsInt():
		wider, err := Promote(to, from)
		return err == nil && wider == to
	}
	switch to {
	case Complex128:
		return true
	case Float64:
		return !from.IsComplex()
	case Complex64:
		return from != Float64 && from != Complex128
	case Float32:
		return from != Float64 && !from.IsComplex()
	case BFloat16:
		return from.IsInt() || from == Float16
	case Float16:
		return from == Uint8 || from == Int8 || from == Int16
	}
	return false
}

// A checker compares elements before and after their conversion.
type checker struct {
	before, after row
	in, out       [rowLen]complex128 // aligned for every type
}

// kept reports whether element i has the value it had.
func (c *checker) kept(i int) bool {
	x, y := &c.before, &c.after
	if x.kind == complx && y.kind != complx && x.im[i] != 0 {
		return false
	}
	switch {
	case !x.isFloat() && !y.isFloat():
		negative := x.kind == signed && int64(x.u[i]) < 0
		return x.u[i] == y.u[i] && negative == (y.kind == signed && int64(y.u[i]) < 0)
	case !x.isFloat():
		return finite(y.f[i])
	case !y.isFloat():
		return x.f[i] == y.float(i)
	case y.kind == complx && x.kind == complx && !sameClass(x.im[i], y.im[i]):
		return false
	}
	return sameClass(x.f[i], y.f[i])
}

// float returns element i, which is real, as a float64.
func (r *row) float(i int) float64 {
	switch r.kind {
	case unsigned:
		return float64(r.u[i])
	case signed:
		return float64(int64(r.u[i]))
	}
	return r.f[i]
}

func (r *row) format(i int) string {
	switch r.kind {
	case unsigned:
		return fmt.Sprint(r.u[i])
	case signed:
		return fmt.Sprint(int64(r.u[i]))
	case complx:
		return fmt.Sprint(complex(r.f[i], r.im[i]))
	}
	return fmt.Sprint(r.f[i])
}

func finite(x float64) bool { return !math.IsInf(x, 0) && x == x }

// sameClass reports whether x and y are both finite, both infinite or both NaN.
func sameClass(x, y float64) bool {
	return finite(x) == finite(y) && math.IsInf(x, 0) == math.IsInf(y, 0)
}
