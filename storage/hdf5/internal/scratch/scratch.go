// Package scratch lends byte slices for temporary use, so that decoding many chunks
// does not allocate for each.
package scratch

import (
	"math/bits"
	"sync"
)

// pools hold *[]byte by class.
var pools [4 * (bits.UintSize + 1)]sync.Pool

// class returns the number of the class of slices that hold size bytes, and the capacity of each: four classes lie
// between two powers of two, so that a small slice is not in the place of a large one, and at most a quarter is unused.
func class(size int) (number, capacity int) {
	size = max(size, 64)
	n := bits.Len(uint(size - 1)) // size is at most 1<<n, and more than half of it
	part := 1 << (n - 3)
	parts := (size + part - 1) / part
	return 4*n + parts%4, parts * part
}

// Get returns a slice of the given length, with arbitrary contents.
func Get(size int) []byte {
	number, capacity := class(size)
	if b, _ := pools[number].Get().(*[]byte); b != nil {
		return (*b)[:size]
	}
	return make([]byte, size, capacity)
}

// Put makes a slice returned by Get available again.
func Put(b []byte) {
	if number, capacity := class(cap(b)); capacity == cap(b) {
		pools[number].Put(&b)
	}
}
