package hdf5

import "math/bits"

// A bitReader takes numbers of any width from bytes, the highest bit first. It
// reads zeros beyond the end and remembers that it did.
type bitReader struct {
	src   []byte
	held  uint64 // the bits held are the n lowest ones
	n     int    // never more than 63
	short bool
}

func (r *bitReader) fill() {
	r.held <<= 8
	r.n += 8
	if len(r.src) == 0 {
		r.short = true
		return
	}
	r.held |= uint64(r.src[0])
	r.src = r.src[1:]
}

// take returns the next width bits, at most 56.
func (r *bitReader) take(width int) uint64 {
	for r.n < width {
		r.fill()
	}
	r.n -= width
	return r.held >> r.n & (1<<width - 1)
}

// take64 returns the next width bits, at most 64.
func (r *bitReader) take64(width int) uint64 {
	if width <= 32 {
		return r.take(width)
	}
	return r.take(width-32)<<32 | r.take(32)
}

// zeros takes all zeros before the next one, and that; it returns how many.
func (r *bitReader) zeros() int {
	for count := 0; ; {
		if held := r.held & (1<<r.n - 1); held != 0 || r.short {
			left := max(0, bits.Len64(held)-1)
			count += max(0, r.n-1-left)
			r.n = left
			return count
		}
		count += r.n
		r.n = 0
		r.fill()
	}
}
