package ptx

import (
	"math"
	"math/bits"
	"unsafe"
)

type integer interface {
	uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32 | int64
}

type float interface{ float32 | float64 }

// as sees the low bits of a register as a T. Instructions of one size do not
// look at what others left above; GPUs and the machines that this runs on are
// little-endian.
func as[T any](r *uint64) *T { return (*T)(unsafe.Pointer(r)) }

func add[T integer | float](x, y T) T { return x + y }
func sub[T integer | float](x, y T) T { return x - y }
func mul[T integer | float](x, y T) T { return x * y }
func and[T integer](x, y T) T         { return x & y }
func or[T integer](x, y T) T          { return x | y }
func xor[T integer](x, y T) T         { return x ^ y }

// quotient and remainder by zero are what GPUs give, if not what PTX promises.
func quotient[T integer](x, y T) T {
	if y == 0 {
		return ^T(0)
	}
	return x / y
}

func remainder[T integer](x, y T) T {
	if y == 0 {
		return x
	}
	return x % y
}

func highWord(x, y uint64) uint64 {
	hi, _ := bits.Mul64(x, y)
	return hi
}

func leadingZeros(x uint32) uint32 { return uint32(bits.LeadingZeros32(x)) }
func ones(x uint32) uint32         { return uint32(bits.OnesCount32(x)) }

// extract returns n bits of x from position at.
func extract(x, at, n uint32) uint32 { return x >> (at & 255) & (1<<(n&255) - 1) }

// decodeBfi decodes bfi: it inserts the lowest bits of one word into another at a position.
func decodeBfi[T uint32 | uint64](d *decoder) execute {
	z, x, y, at, n := d.to(0), d.from(1), d.from(2), d.from(3), d.from(4)
	return func(b *block, lanes []int32) {
		zs, xs, ys, from, count := b.row(z), b.row(x), b.row(y), b.row(at), b.row(n)
		for _, l := range lanes {
			mask := (T(1)<<(count[l]&255) - 1) << (from[l] & 255)
			*as[T](&zs[l]) = T(ys[l])&^mask | T(xs[l])<<(from[l]&255)&mask
		}
	}
}

// permute picks four of the eight bytes of y and x by the nibbles of pick, whose
// upper bit asks for a byte's sign instead.
func permute(x, y, pick uint32) (z uint32) {
	both := uint64(y)<<32 | uint64(x)
	for i := range 4 {
		nibble := pick >> (4 * i)
		b := byte(both >> (8 * (nibble & 7)))
		if nibble&8 != 0 {
			b = byte(int8(b) >> 7)
		}
		z |= uint32(b) << (8 * i)
	}
	return z
}

// least and most are PTX's min and max, which prefer a number to a NaN.
func least[T float](x, y T) T {
	if x != x || y < x {
		return y
	}
	return x
}

func most[T float](x, y T) T {
	if x != x || y > x {
		return y
	}
	return x
}

func magnitude[T float](x T) T { return T(math.Abs(float64(x))) }
func root[T float](x T) T      { return T(math.Sqrt(float64(x))) }

// exp2 and log2 stand for instructions that a GPU approximates.
func exp2(x float32) float32 { return float32(math.Exp2(float64(x))) }
func log2(x float32) float32 { return float32(math.Log2(float64(x))) }

func fma64(x, y, z float64) float64 { return math.FMA(x, y, z) }

// fma32 is x·y + z, rounded once. The product is exact in a float64, and so is
// the sum but for its last bit, which matters only halfway between two float32s.
func fma32(x, y, z float32) float32 {
	sum := float64(x)*float64(y) + float64(z)
	if math.Float64bits(sum)&0x1fffffff == 0x10000000 {
		return rounded(float64(x)*float64(y), float64(z), sum)
	}
	return float32(sum)
}

// rounded is the float32 of p + q, whose sum in a float64 lies halfway: the
// error of that sum (Knuth, The Art of Computer Programming 2, 4.2.2) decides.
//
//go:noinline
func rounded(p, q, sum float64) float32 {
	back := sum - p
	missing := (p - (sum - back)) + (q - back)
	if missing != 0 {
		sum = math.Nextafter(sum, math.Copysign(math.Inf(1), missing))
	}
	return float32(sum)
}
