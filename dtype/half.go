package dtype

import "math"

// F16 holds the bits of a Float16: 1 sign, 5 exponent, 10 fraction.
type F16 uint16

// BF16 holds the bits of a BFloat16: the upper half of a float32's.
type BF16 uint16

// F8E4M3 holds the bits of a Float8E4M3: 1 sign, 4 exponent, 3 fraction, no
// infinities, and NaN only where all exponent and fraction bits are set.
type F8E4M3 uint8

// F8E5M2 holds the bits of a Float8E5M2: the upper half of a Float16's.
type F8E5M2 uint8

// F16From returns the Float16 nearest to x, ties to even; beyond the largest
// lies infinity, and NaN stays NaN.
func F16From(x float32) F16 {
	b := math.Float32bits(x)
	sign, mag := F16(b>>16&0x8000), b&0x7fffffff
	switch {
	case mag > 0x7f800000: // NaN, quiet, keeping what fits of its payload
		return sign | 0x7e00 | F16(mag>>13&0x3ff)
	case mag >= 0x47800000: // 65536 and more
		return sign | 0x7c00
	case mag < 0x38800000: // below 2⁻¹⁴: subnormal. Adding ½ leaves units of 2⁻²⁴ in the fraction
		return sign | F16(math.Float32bits(math.Float32frombits(mag)+0.5)-0x3f000000)
	}
	// Rebias the exponent; the carry of the rounding may run into it, and into infinity.
	return sign | F16((mag-0x38000000+0xfff+mag>>13&1)>>13)
}

// Float32 returns h's value, exactly.
func (h F16) Float32() float32 {
	sign, exp, frac := uint32(h&0x8000)<<16, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0: // frac · 2⁻²⁴
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*0x1p-24))
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// BF16From returns the BFloat16 nearest to x, ties to even; NaN stays NaN.
func BF16From(x float32) BF16 {
	b := math.Float32bits(x)
	if b&0x7fffffff > 0x7f800000 {
		return BF16(b>>16 | 0x40) // quiet, as rounding could carry a NaN to infinity
	}
	return BF16((b + 0x7fff + b>>16&1) >> 16)
}

// Float32 returns h's value, exactly.
func (h BF16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }

// F8E4M3From returns the Float8E4M3 nearest to x, ties to even. What would
// round beyond 448, infinities included, is NaN, as in PyTorch.
func F8E4M3From(x float32) F8E4M3 {
	b := math.Float32bits(x)
	sign, mag := F8E4M3(b>>24&0x80), b&0x7fffffff
	switch {
	case mag > 0x43e80000: // beyond 464, or NaN
		return sign | 0x7f
	case mag < 0x3c800000: // below 2⁻⁶: subnormal. Adding 2¹⁴ leaves units of 2⁻⁹ in the fraction
		return sign | F8E4M3(math.Float32bits(math.Float32frombits(mag)+0x1p14)-0x46800000)
	}
	return sign | F8E4M3((mag-0x3c000000+0x7ffff+mag>>20&1)>>20)
}

// Float32 returns h's value, exactly.
func (h F8E4M3) Float32() float32 {
	sign, exp, frac := uint32(h&0x80)<<24, uint32(h>>3&0xf), uint32(h&7)
	switch {
	case exp == 0: // frac · 2⁻⁹
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*0x1p-9))
	case exp == 0xf && frac == 7:
		return math.Float32frombits(sign | 0x7fc00000)
	}
	return math.Float32frombits(sign | (exp+120)<<23 | frac<<20)
}

// F8E5M2From returns the Float8E5M2 nearest to x, ties to even; beyond the
// largest lies infinity, and NaN stays NaN.
func F8E5M2From(x float32) F8E5M2 {
	b := math.Float32bits(x)
	sign, mag := F8E5M2(b>>24&0x80), b&0x7fffffff
	switch {
	case mag > 0x7f800000:
		return sign | 0x7f
	case mag >= 0x47800000: // 65536 and more
		return sign | 0x7c
	case mag < 0x38800000: // below 2⁻¹⁴: subnormal. Adding 2⁷ leaves units of 2⁻¹⁶ in the fraction
		return sign | F8E5M2(math.Float32bits(math.Float32frombits(mag)+0x1p7)-0x43000000)
	}
	return sign | F8E5M2((mag-0x38000000+0xfffff+mag>>21&1)>>21)
}

// Float32 returns h's value, exactly.
func (h F8E5M2) Float32() float32 { return F16(uint16(h) << 8).Float32() }

// odd rounds x to float32 so that rounding the result again, to any narrower
// type, gives what rounding x at once would: inexact results get an odd last
// bit, which no tie has (Boldo and Melquiond, doi:10.1109/TC.2007.70819).
func odd(x float64) float32 {
	y := float32(x)
	if float64(y) == x || x != x {
		return y
	}
	bits := math.Float32bits(y)
	if math.Abs(float64(y)) > math.Abs(x) {
		bits-- // towards zero; from infinity to the largest
	}
	return math.Float32frombits(bits | 1)
}
