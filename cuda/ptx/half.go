package ptx

import "math"

// halfValue returns what the bits of a binary16 stand for.
func halfValue(h uint16) float64 {
	sign := 1.
	if h>>15 != 0 {
		sign = -1
	}
	exponent, fraction := int(h>>10&31), float64(h&1023)
	switch {
	case exponent == 31 && fraction != 0:
		return math.NaN()
	case exponent == 31:
		return math.Inf(int(sign))
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// half returns the binary16 nearest to x, even ones first; NaN as GPUs write it.
func half(x float64) uint16 {
	sign := uint16(math.Float64bits(x) >> 48 & 0x8000)
	x = math.Abs(x)
	switch {
	case x != x:
		return 0x7fff
	case x >= 65520: // halfway from the largest to what would follow it
		return sign | 0x7c00
	case x < 0x1p-14:
		return sign | uint16(math.RoundToEven(math.Ldexp(x, 24)))
	}
	fraction, exponent := math.Frexp(x) // in [½, 1)
	return sign + uint16(exponent+13)<<10 + uint16(math.RoundToEven(math.Ldexp(fraction, 11)))
}

// tf32 is the TF32 nearest to a float32, of two the one away from 0: 10 of the 23 bits
// behind the point. NaN stays one.
func tf32(x uint32) uint32 {
	if x&0x7fffffff > 0x7f800000 {
		return 0x7fffe000
	}
	return (x + 1<<12) &^ (1<<13 - 1)
}
