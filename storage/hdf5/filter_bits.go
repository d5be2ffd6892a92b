package hdf5

// A bitReader takes numbers of any width from bytes, the highest bit first. It
// reads zeros beyond the end and remembers that it did.
type bitReader struct {
	src   []byte
	held  uint64 // the bits held are the lowest ones
	n     int    // how many, never more than 63
	short bool
}

// take returns the next width bits, at most 56.
func (r *bitReader) take(width int) uint64 {
	for r.n < width {
		r.held <<= 8
		if len(r.src) > 0 {
			r.held |= uint64(r.src[0])
			r.src = r.src[1:]
		} else {
			r.short = true
		}
		r.n += 8
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
