package ptx

import "maps"

// opcodes is every opcode that is known, by its text without the modifiers that
// plain drops, or by its first word where a maker reads all modifiers itself.
var opcodes = map[string]maker{
	"mov": decodeMov, "cvta": decodeMov, "ld": decodeLd, "st": decodeSt, "atom": decodeAtom, "red": decodeAtom,
	"cvt": decodeCvt, "setp": decodeSetp, "selp": decodeSelp, "shfl": decodeShfl, "mma": decodeMMA, "ldmatrix": decodeLdmatrix,
	"membar.gl": fence,

	"and.pred": two(and[uint8]), "or.pred": two(or[uint8]), "xor.pred": two(xor[uint8]), "not.pred": one(func(x uint8) uint8 { return x ^ 1 }),

	"mul.wide.u16": wide[uint16, uint32](), "mul.wide.u32": wide[uint32, uint64](),
	"mul.wide.s16": wide[int16, int32](), "mul.wide.s32": wide[int32, int64](),
	"mul.hi.u32": two(func(x, y uint32) uint32 { return uint32(uint64(x) * uint64(y) >> 32) }),
	"mul.hi.s32": two(func(x, y int32) int32 { return int32(int64(x) * int64(y) >> 32) }),
	"mul.hi.u64": two(highWord),
	"bfe.u32":    three(extract),
	"bfi.b32":    decodeBfi[uint32], "bfi.b64": decodeBfi[uint64],
	"prmt.b32": three(permute),
	"clz.b32":  one(leadingZeros), "popc.b32": one(ones),
	"shf.l.wrap.b32": three(func(lo, hi, n uint32) uint32 { return hi<<(n&31) | uint32(uint64(lo)>>(32-n&31)) }),
	"shf.r.wrap.b32": three(func(lo, hi, n uint32) uint32 { return uint32((uint64(hi)<<32 | uint64(lo)) >> (n & 31)) }),

	"fma.f32": three(fma32), "fma.f64": three(fma64),
	"rcp.f32": one(func(x float32) float32 { return 1 / x }), "rcp.f64": one(func(x float64) float64 { return 1 / x }),
	"sqrt.f32": one(root[float32]), "sqrt.f64": one(root[float64]),
	"ex2.f32": one(exp2), "lg2.f32": one(log2),
	"cvt.rna.tf32.f32": one(tf32),
}

func init() {
	for _, family := range []map[string]maker{
		integers[uint16]("u16"), integers[uint32]("u32"), integers[uint64]("u64"),
		integers[int16]("s16"), integers[int32]("s32"), integers[int64]("s64"),
		bitwise[uint16]("b16"), bitwise[uint32]("b32"), bitwise[uint64]("b64"),
		floats[float32]("f32"), floats[float64]("f64"),
	} {
		maps.Copy(opcodes, family)
	}
}

// integers is the arithmetic of one type of integers.
func integers[T integer](t string) map[string]maker {
	return map[string]maker{
		"add." + t: two(add[T]), "sub." + t: two(sub[T]), "mul." + t: two(mul[T]),
		"div." + t: two(quotient[T]), "rem." + t: two(remainder[T]),
		"min." + t: two(func(x, y T) T { return min(x, y) }), "max." + t: two(func(x, y T) T { return max(x, y) }),
		"neg." + t: one(func(x T) T { return -x }), "abs." + t: one(func(x T) T { return max(x, -x) }),
		"mad." + t: three(func(x, y, z T) T { return x*y + z }),
		"shr." + t: shift(func(x T, n uint32) T { return x >> n }),
	}
}

// bitwise is the arithmetic of one size of words.
func bitwise[T integer](t string) map[string]maker {
	return map[string]maker{
		"and." + t: two(and[T]), "or." + t: two(or[T]), "xor." + t: two(xor[T]), "not." + t: one(func(x T) T { return ^x }),
		"shl." + t: shift(func(x T, n uint32) T { return x << n }), "shr." + t: shift(func(x T, n uint32) T { return x >> n }),
	}
}

// floats is the arithmetic of one type of floats.
func floats[T float](t string) map[string]maker {
	return map[string]maker{
		"add." + t: two(add[T]), "sub." + t: two(sub[T]), "mul." + t: two(mul[T]), "div." + t: two(func(x, y T) T { return x / y }),
		"min." + t: two(least[T]), "max." + t: two(most[T]),
		"neg." + t: one(func(x T) T { return -x }), "abs." + t: one(magnitude[T]),
	}
}

// one, two and three make the work of opcodes that compute a register from as
// many operands of its type.
func one[T any](f func(x T) T) maker {
	return func(d *decoder) execute {
		z, x := d.to(0), d.from(1)
		return func(b *block, lanes []int32) {
			zs, xs := b.row(z), b.row(x)
			for _, l := range lanes {
				*as[T](&zs[l]) = f(*as[T](&xs[l]))
			}
		}
	}
}

func two[T any](f func(x, y T) T) maker {
	return func(d *decoder) execute {
		z, x, y := d.to(0), d.from(1), d.from(2)
		return func(b *block, lanes []int32) {
			zs, xs, ys := b.row(z), b.row(x), b.row(y)
			for _, l := range lanes {
				*as[T](&zs[l]) = f(*as[T](&xs[l]), *as[T](&ys[l]))
			}
		}
	}
}

func three[T any](f func(x, y, z T) T) maker {
	return func(d *decoder) execute {
		w, x, y, z := d.to(0), d.from(1), d.from(2), d.from(3)
		return func(b *block, lanes []int32) {
			ws, xs, ys, zs := b.row(w), b.row(x), b.row(y), b.row(z)
			for _, l := range lanes {
				*as[T](&ws[l]) = f(*as[T](&xs[l]), *as[T](&ys[l]), *as[T](&zs[l]))
			}
		}
	}
}

// wide makes the product of two numbers in a type of twice the size.
func wide[T, W integer]() maker {
	return func(d *decoder) execute {
		z, x, y := d.to(0), d.from(1), d.from(2)
		return func(b *block, lanes []int32) {
			zs, xs, ys := b.row(z), b.row(x), b.row(y)
			for _, l := range lanes {
				*as[W](&zs[l]) = W(*as[T](&xs[l])) * W(*as[T](&ys[l]))
			}
		}
	}
}

// shift makes what shifts a T by a u32; to shift by more bits than there are is
// to shift all of them out, as in Go.
func shift[T integer](f func(x T, n uint32) T) maker {
	return func(d *decoder) execute {
		z, x, n := d.to(0), d.from(1), d.from(2)
		return func(b *block, lanes []int32) {
			zs, xs, ns := b.row(z), b.row(x), b.row(n)
			for _, l := range lanes {
				*as[T](&zs[l]) = f(*as[T](&xs[l]), *as[uint32](&ns[l]))
			}
		}
	}
}
