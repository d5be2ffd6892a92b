package ptx

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// An access is a load or a store: where each thread's elements lie, and which
// registers they are for.
type access struct {
	base   int // register of the address
	offset uint64
	regs   []int
	size   int // of one element, in bytes
	signed bool
	space  string
	index  int // of the instruction
}

var little = binary.LittleEndian

// bytes is how many a thread moves.
func (a *access) bytes() int { return a.size * len(a.regs) }

// access reads ld.SPACE.VECTOR.TYPE, or st.
func (d *decoder) access(address, values int, register func(word string) int) *access {
	words := split(d.opcode)
	if len(words) < 3 {
		d.fail("only param, global and shared memory are known; accesses name their space")
	}
	for _, word := range words[2 : len(words)-1] {
		if !slices.Contains([]string{"nc", "v2", "v4", "volatile"}, word) {
			d.fail("unknown modifier %s", word)
		}
	}
	letter, size := d.kind()
	a := &access{size: size, signed: letter == 's', space: words[1], index: d.index}
	a.base, a.offset = d.address(address)
	a.regs = d.list(values, register)
	if want := strings.Count(d.opcode, ".v2") + 3*strings.Count(d.opcode, ".v4") + 1; len(a.regs) != want {
		d.fail("moves %d registers; want %d", len(a.regs), want)
	}
	return a
}

// decodeLd decodes ld.
func decodeLd(d *decoder) execute {
	a := d.access(1, 0, d.named)
	switch a.space {
	case "param":
		return a.loadParam
	case "global":
		return a.loadGlobal
	case "shared":
		return a.loadShared
	}
	d.fail("only param, global and shared memory are known; accesses name their space")
	return nil
}

// decodeSt decodes st.
func decodeSt(d *decoder) execute {
	a := d.access(0, 1, d.value)
	switch a.space {
	case "global":
		return a.storeGlobal
	case "shared":
		return a.storeShared
	}
	d.fail("only global and shared memory can be written; accesses name their space")
	return nil
}

// get moves a thread's elements from memory to registers, extended to 64 bits.
func (a *access) get(b *block, l int32, from []byte) {
	for i, r := range a.regs {
		b.row(r)[l] = a.element(from[i*a.size:])
	}
}

func (a *access) element(from []byte) uint64 {
	switch {
	case a.size == 8:
		return little.Uint64(from)
	case a.size == 4 && a.signed:
		return uint64(int32(little.Uint32(from)))
	case a.size == 4:
		return uint64(little.Uint32(from))
	case a.size == 2 && a.signed:
		return uint64(int16(little.Uint16(from)))
	case a.size == 2:
		return uint64(little.Uint16(from))
	case a.signed:
		return uint64(int8(from[0]))
	}
	return uint64(from[0])
}

// put moves a thread's elements from registers to memory.
func (a *access) put(b *block, l int32, to []byte) {
	for i, r := range a.regs {
		switch x, to := b.row(r)[l], to[i*a.size:]; a.size {
		case 8:
			little.PutUint64(to, x)
		case 4:
			little.PutUint32(to, uint32(x))
		case 2:
			little.PutUint16(to, uint16(x))
		default:
			to[0] = byte(x)
		}
	}
}

func (a *access) loadParam(b *block, lanes []int32) {
	at := b.row(a.base)
	for _, l := range lanes {
		from := at[l] + a.offset
		if from > math.MaxInt32 || int(from)+a.bytes() > len(b.params) {
			b.fail(l, "parameter offset %d of %d", from, len(b.params))
			return
		}
		a.get(b, l, b.params[from:])
	}
}

func (a *access) loadGlobal(b *block, lanes []int32) {
	b.countSectors(a, lanes)
	at, n := b.row(a.base), a.bytes()
	single := len(a.regs) == 1 && a.size == 4
	to := b.row(a.regs[0])
	for _, l := range lanes {
		from := b.global(a.index, l, at[l]+a.offset, n)
		switch {
		case from == nil:
			return
		case single && !a.signed:
			to[l] = uint64(little.Uint32(from))
		default:
			a.get(b, l, from)
		}
	}
}

func (a *access) storeGlobal(b *block, lanes []int32) {
	b.countSectors(a, lanes)
	at, n := b.row(a.base), a.bytes()
	for _, l := range lanes {
		to := b.global(a.index, l, at[l]+a.offset, n)
		if to == nil {
			return
		}
		a.put(b, l, to)
	}
}

func (a *access) loadShared(b *block, lanes []int32) {
	b.countWavefronts(a, lanes)
	at, n := b.row(a.base), a.bytes()
	single := len(a.regs) == 1 && a.size == 4
	to := b.row(a.regs[0])
	for _, l := range lanes {
		from := b.sharedBytes(l, at[l]+a.offset, n, false)
		switch {
		case from == nil:
			return
		case single && !a.signed:
			to[l] = uint64(little.Uint32(from))
		default:
			a.get(b, l, from)
		}
	}
}

func (a *access) storeShared(b *block, lanes []int32) {
	b.countWavefronts(a, lanes)
	at, n := b.row(a.base), a.bytes()
	for _, l := range lanes {
		to := b.sharedBytes(l, at[l]+a.offset, n, true)
		if to == nil {
			return
		}
		a.put(b, l, to)
	}
}

// global returns n bytes of global memory, or nil after a failure.
func (b *block) global(index int, l int32, address uint64, n int) []byte {
	s := &b.recent[index]
	if !s.holds(address, n) {
		var err error
		if *s, err = b.memory.span(address, n); err != nil {
			b.fail(l, "%v", err)
			return nil
		}
	}
	if address%uint64(n) != 0 {
		b.fail(l, "%d bytes at %#x are not aligned", n, address)
		return nil
	}
	at := address - s.base
	return s.bytes[at : at+uint64(n) : at+uint64(n)]
}

// sharedBytes returns n bytes of the block's shared memory, or nil after a failure.
func (b *block) sharedBytes(l int32, at uint64, n int, write bool) []byte {
	if at >= uint64(len(b.shared)) || at+uint64(n) > uint64(len(b.shared)) {
		b.fail(l, "%d bytes at %d reach outside %d bytes of shared memory", n, at, len(b.shared))
		return nil
	}
	if at%uint64(n) != 0 {
		b.fail(l, "%d bytes at %d of shared memory are not aligned", n, at)
		return nil
	}
	if b.races {
		b.race(l, at, n, write)
	}
	return b.shared[at : at+uint64(n) : at+uint64(n)]
}

// decodeAtom decodes atom and red in global memory.
func decodeAtom(d *decoder) execute {
	f := updates[strings.NewReplacer("atom.", "", "red.", "", "global.", "", "gpu.", "", "relaxed.", "").Replace(d.opcode)]
	if f == nil || !d.has("global") {
		d.fail("unknown atomic operation")
	}
	place, result := 0, 0
	if split(d.opcode)[0] == "atom" {
		result, place = d.to(0), 1
	}
	base, offset := d.address(place)
	x := d.from(place + 1)
	y := x
	if d.has("cas") {
		y = d.from(place + 2)
	}
	_, size := d.kind()
	word := &access{size: size, regs: []int{0}}
	return func(b *block, lanes []int32) {
		at, xs, ys := b.row(base), b.row(x), b.row(y)
		for _, l := range lanes {
			address := at[l] + offset
			bytes := b.global(d.index, l, address, size)
			if bytes == nil {
				return
			}
			lock := &b.memory.atomics[address>>3&63]
			lock.Lock()
			old := word.element(bytes)
			new := f(old, xs[l], ys[l])
			copy(bytes, little.AppendUint64(nil, new)[:size])
			lock.Unlock()
			if result != 0 {
				b.row(result)[l] = old
			}
		}
	}
}

// updates are what atomics make of memory and their operands.
var updates = map[string]func(old, x, y uint64) uint64{
	"add.u32": increase, "add.s32": increase, "add.u64": increase,
	"add.f32":  func(old, x, _ uint64) uint64 { return uint64(math.Float32bits(f32(uint32(old)) + f32(uint32(x)))) },
	"min.s64":  func(old, x, _ uint64) uint64 { return uint64(min(int64(old), int64(x))) },
	"min.u64":  func(old, x, _ uint64) uint64 { return min(old, x) },
	"max.u64":  func(old, x, _ uint64) uint64 { return max(old, x) },
	"exch.b32": exchange, "exch.b64": exchange,
	"cas.b64": func(old, x, y uint64) uint64 {
		if old == x {
			return y
		}
		return old
	},
}

func increase(old, x, _ uint64) uint64 { return old + x }
func exchange(_, x, _ uint64) uint64   { return x }
