package ptx

import (
	"cmp"
	"slices"
)

// An order is what two numbers can be to each other.
type order uint8

const (
	less order = 1 << iota
	equal
	greater
	unordered // one is a NaN
)

// relations are the orders in which a comparison holds.
var relations = map[string]order{
	"eq": equal, "ne": less | greater, "lt": less, "le": less | equal, "gt": greater, "ge": greater | equal,
	"lo": less, "ls": less | equal, "hi": greater, "hs": greater | equal,
	"equ": equal | unordered, "neu": less | greater | unordered, "ltu": less | unordered, "leu": less | equal | unordered,
	"gtu": greater | unordered, "geu": greater | equal | unordered,
	"num": less | equal | greater, "nan": unordered,
}

// comparisons are setp, by type.
var comparisons = map[string]func(z, x, y int, holds order) execute{
	"u16": comparison[uint16], "u32": comparison[uint32], "u64": comparison[uint64],
	"s16": comparison[int16], "s32": comparison[int32], "s64": comparison[int64],
	"b16": comparison[uint16], "b32": comparison[uint32], "b64": comparison[uint64],
	"f32": comparison[float32], "f64": comparison[float64],
}

// decodeSetp decodes setp.RELATION.TYPE.
func decodeSetp(d *decoder) execute {
	words := slices.DeleteFunc(split(d.opcode), func(word string) bool { return word == "ftz" })
	if len(words) != 3 || relations[words[1]] == 0 || comparisons[words[2]] == nil {
		d.fail("unknown comparison")
	}
	return comparisons[words[2]](d.to(0), d.from(1), d.from(2), relations[words[1]])
}

func comparison[T integer | float](z, x, y int, holds order) execute {
	return func(b *block, lanes []int32) {
		zs, xs, ys := b.row(z), b.row(x), b.row(y)
		for _, l := range lanes {
			zs[l] = 0
			if ordered(*as[T](&xs[l]), *as[T](&ys[l]))&holds != 0 {
				zs[l] = 1
			}
		}
	}
}

func ordered[T cmp.Ordered](x, y T) order {
	switch {
	case x < y:
		return less
	case x == y:
		return equal
	case x > y:
		return greater
	}
	return unordered
}

// decodeSelp decodes selp: the first value where the predicate holds, else the second.
func decodeSelp(d *decoder) execute {
	z, x, y, p := d.to(0), d.from(1), d.from(2), d.from(3)
	return func(b *block, lanes []int32) {
		zs, xs, ys, ps := b.row(z), b.row(x), b.row(y), b.row(p)
		for _, l := range lanes {
			chosen := ys[l] // z may be x
			if uint8(ps[l]) != 0 {
				chosen = xs[l]
			}
			zs[l] = chosen
		}
	}
}
