package kernels

import "math"

// Divisions of integers, and of floats by the same rules. Integers divided by 0 give 0, as in NumPy.
var (
	// Pow is z = xʸ; of integers it wraps around, and is 0 where it would be a fraction.
	Pow = binaryKernel("pow", binary(math.Pow), binary(power[int64]), binary(power[uint64]))
	// FMod is what division towards zero leaves: it has the sign of x.
	FMod = binaryKernel("fmod", binary(math.Mod), binary(modulo[int64]), binary(modulo[uint64]))
	// Remainder is what division towards −∞ leaves: it has the sign of y, as in Python.
	Remainder = binaryKernel("remainder", binary(floatRemainder), binary(remainder[int64]), binary(remainder[uint64]))
	// FloorDiv is the quotient, rounded towards −∞.
	FloorDiv = binaryKernel("floor div", binary(floatFloorDiv), binary(floorDiv[int64]), binary(floorDiv[uint64]))
)

// Bits of integers and bools. Shifts by fewer than 0 or more than all bits leave 0, or −1 of negative x to the right.
var (
	BitAnd     = binaryKernel("bit and", binary(func(x, y int64) int64 { return x & y }), binary(func(x, y uint64) uint64 { return x & y }))
	BitOr      = binaryKernel("bit or", binary(func(x, y int64) int64 { return x | y }), binary(func(x, y uint64) uint64 { return x | y }))
	BitXor     = binaryKernel("bit xor", binary(func(x, y int64) int64 { return x ^ y }), binary(func(x, y uint64) uint64 { return x ^ y }))
	ShiftLeft  = binaryKernel("shift left", binary(func(x, y int64) int64 { return x << uint64(y) }), binary(func(x, y uint64) uint64 { return x << y }))
	ShiftRight = binaryKernel("shift right", binary(func(x, y int64) int64 { return x >> uint64(y) }), binary(func(x, y uint64) uint64 { return x >> y }))
)

type whole interface{ int64 | uint64 }

func power[T whole](x, y T) T {
	if y < 0 {
		switch {
		case x == 1 || x+1 == 0 && y&1 == 0:
			return 1
		case x+1 == 0:
			return x
		}
		return 0
	}
	z := T(1)
	for ; y > 0; y >>= 1 {
		if y&1 == 1 {
			z *= x
		}
		x *= x
	}
	return z
}

func modulo[T whole](x, y T) T {
	if y == 0 {
		return 0
	}
	return x % y
}

func remainder[T whole](x, y T) T {
	if r := modulo(x, y); r != 0 && (r < 0) != (y < 0) {
		return r + y
	}
	return modulo(x, y)
}

func floorDiv[T whole](x, y T) T {
	if y == 0 {
		return 0
	}
	if x%y != 0 && (x < 0) != (y < 0) {
		return x/y - 1
	}
	return x / y
}

func floatRemainder(x, y float64) float64 {
	if r := math.Mod(x, y); r != 0 && (r < 0) != (y < 0) {
		return r + y
	}
	return math.Mod(x, y)
}

// floatFloorDiv is Python's //, which agrees with the remainder.
func floatFloorDiv(x, y float64) float64 {
	r := math.Mod(x, y)
	q := (x - r) / y
	switch {
	case y == 0:
		return x / y
	case r != 0 && (r < 0) != (y < 0):
		q--
	}
	if q == 0 {
		return math.Copysign(0, x/y)
	}
	if floor := math.Floor(q); q-floor <= 0.5 {
		return floor
	}
	return math.Ceil(q)
}
