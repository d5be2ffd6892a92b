package ptx

import (
	"math"
	"unsafe"
)

// A number is an operand in a type that holds all others: integers exactly,
// floats as such.
type number struct {
	i uint64
	f float64
}

// decodeCvt decodes cvt.ROUNDING.TO.FROM.
func decodeCvt(d *decoder) execute {
	to, from, rounding := d.conversion()
	z, x := d.to(0), d.from(1)
	read, write := readers[from], writers[to]
	if read == nil || write == nil {
		d.fail("unknown conversion")
	}
	return func(b *block, lanes []int32) {
		zs, xs := b.row(z), b.row(x)
		for _, l := range lanes {
			n := read(xs[l])
			if rounding != nil {
				n.f = rounding(n.f)
			}
			zs[l] = write(n)
		}
	}
}

// roundings to integral values; rounding to the type is to nearest.
var roundings = map[string]func(x float64) float64{"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor, "rpi": math.Ceil}

func (d *decoder) conversion() (to, from string, rounding func(float64) float64) {
	words := split(d.opcode)
	if len(words) < 3 {
		d.fail("unknown conversion")
	}
	to, from = words[len(words)-2], words[len(words)-1]
	for _, word := range words[1 : len(words)-2] {
		round, known := roundings[word]
		if !known && word != "rn" && word != "ftz" {
			d.fail("unknown modifier %s", word)
		}
		if round != nil {
			rounding = round
		}
	}
	if from[0] == 'f' && to[0] != 'f' && rounding == nil {
		d.fail("does not say how to round")
	}
	if to[0] == 'f' || from[0] == 'f' {
		to += from[:1]
	}
	return to, from, rounding
}

// readers see a register as a type, by its name.
var readers = map[string]func(r uint64) number{
	"u8": readInt[uint8], "u16": readInt[uint16], "u32": readInt[uint32], "u64": readInt[uint64],
	"s8": readInt[int8], "s16": readInt[int16], "s32": readInt[int32], "s64": readInt[int64],
	"f16": func(r uint64) number { return number{f: halfValue(uint16(r))} },
	"f32": func(r uint64) number { return number{f: float64(f32(uint32(r)))} },
	"f64": func(r uint64) number { return number{f: math.Float64frombits(r)} },
}

func readInt[T integer](r uint64) number {
	x := T(r)
	f := float64(x)
	return number{uint64(x), f}
}

// writers make a register of a number, by the type's name; where floats are
// involved it is followed by the first letter of the type that the number came from.
var writers = map[string]func(n number) uint64{
	"u8": writeInt[uint8], "u16": writeInt[uint16], "u32": writeInt[uint32], "u64": writeInt[uint64],
	"s8": writeInt[int8], "s16": writeInt[int16], "s32": writeInt[int32], "s64": writeInt[int64],
	"u8f": saturate[uint8], "u16f": saturate[uint16], "u32f": saturate[uint32], "u64f": saturate[uint64],
	"s8f": saturate[int8], "s16f": saturate[int16], "s32f": saturate[int32], "s64f": saturate[int64],
	"f16f": func(n number) uint64 { return uint64(half(n.f)) },
	"f32f": func(n number) uint64 { return uint64(math.Float32bits(float32(n.f))) },
	"f64f": func(n number) uint64 { return math.Float64bits(n.f) },
	"f32u": func(n number) uint64 { return uint64(math.Float32bits(float32(n.i))) },
	"f32s": func(n number) uint64 { return uint64(math.Float32bits(float32(int64(n.i)))) },
	"f64u": func(n number) uint64 { return math.Float64bits(float64(n.i)) },
	"f64s": func(n number) uint64 { return math.Float64bits(float64(int64(n.i))) },
}

// writeInt keeps an integer's low bits, extended as the type does.
func writeInt[T integer](n number) uint64 { return uint64(T(n.i)) }

// saturate keeps the integer that a float is, or the one nearest to it; NaN is 0.
func saturate[T integer](n number) uint64 {
	var zero T
	least, most := zero, ^zero
	if ^zero < 0 { // signed
		least = ^zero << (8*unsafe.Sizeof(zero) - 1)
		most = ^least
	}
	switch {
	case n.f != n.f:
		return 0
	case n.f <= float64(least):
		return uint64(least)
	case n.f >= float64(most):
		return uint64(most)
	}
	return uint64(T(n.f))
}
