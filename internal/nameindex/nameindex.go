// Package nameindex finds numbers by names that are kept elsewhere.
package nameindex

import (
	"hash/maphash"
	"math/bits"
)

// An Index is an open hash table with linear probing. A map would keep every name once more. The zero
// value has room for no names, and grows.
type Index struct {
	slots []int32 // numbers plus one; the length is 0 or a power of two
	used  int
}

var seed = maphash.MakeSeed()

// New returns an index with room for n names.
func New(n int) Index { return Index{slots: make([]int32, slotsFor(n))} }

// slotsFor returns the size of a table of n names, of which a third at least is empty.
func slotsFor(n int) int { return 1 << bits.Len(uint(max(n+n/2, 7))) }

// Find returns the number of a name. nameOf returns the name of a number.
func (x *Index) Find(name string, nameOf func(int) string) (int32, bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	for at := x.slot(name); x.slots[at] != 0; at = (at + 1) & (len(x.slots) - 1) {
		if k := x.slots[at] - 1; nameOf(int(k)) == name {
			return k, true
		}
	}
	return 0, false
}

// Add adds the number of a name that is not there, which nameOf need not know yet.
func (x *Index) Add(name string, number int32, nameOf func(int) string) {
	if x.used++; slotsFor(x.used) > len(x.slots) {
		before := x.slots
		x.slots = make([]int32, slotsFor(x.used))
		for _, k := range before {
			if k != 0 {
				x.put(nameOf(int(k-1)), k)
			}
		}
	}
	x.put(name, number+1)
}

func (x *Index) put(name string, slot int32) {
	at := x.slot(name)
	for x.slots[at] != 0 {
		at = (at + 1) & (len(x.slots) - 1)
	}
	x.slots[at] = slot
}

func (x *Index) slot(name string) int {
	return int(maphash.String(seed, name)) & (len(x.slots) - 1)
}
