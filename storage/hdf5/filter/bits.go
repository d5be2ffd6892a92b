package filter

import "math/bits"

// A bitReader reads numbers of any width from bytes, highest bit first. Beyond the
// end it reads zeros and sets short.
type bitReader struct {
	src   []byte
	acc   uint64 // its n lowest bits have not been read yet
	n     int    // at most 63
	short bool
}

func (r *bitReader) fill() {
	r.acc <<= 8
	r.n += 8
	if len(r.src) == 0 {
		r.short = true
		return
	}
	r.acc |= uint64(r.src[0])
	r.src = r.src[1:]
}

// take reads width bits, at most 56.
func (r *bitReader) take(width int) uint64 {
	for r.n < width {
		r.fill()
	}
	r.n -= width
	return r.acc >> r.n & (1<<width - 1)
}

// take64 reads width bits, at most 64.
func (r *bitReader) take64(width int) uint64 {
	if width <= 32 {
		return r.take(width)
	}
	return r.take(width-32)<<32 | r.take(32)
}

// zeros reads zeros up to and including the next one bit, and returns how many there were.
func (r *bitReader) zeros() int {
	for count := 0; ; {
		if acc := r.acc & (1<<r.n - 1); acc != 0 || r.short {
			left := max(0, bits.Len64(acc)-1)
			count += max(0, r.n-1-left)
			r.n = left
			return count
		}
		count += r.n
		r.n = 0
		r.fill()
	}
}
