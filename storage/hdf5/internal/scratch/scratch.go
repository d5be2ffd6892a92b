// Package scratch lends byte slices for temporary use, so that decoding many chunks
// does not allocate for each.
package scratch

import "sync"

var pool sync.Pool // of *[]byte

// Get returns a slice of the given length, with arbitrary contents.
func Get(size int) []byte {
	if b, _ := pool.Get().(*[]byte); b != nil && cap(*b) >= size {
		return (*b)[:size]
	}
	return make([]byte, size)
}

// Put makes a slice returned by Get available again.
func Put(b []byte) { pool.Put(&b) }
