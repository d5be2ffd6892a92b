package hdf5

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// writeFill writes the fill value to every element of a transfer.
func (s *source) writeFill(dst []byte, p transfer) {
	if s.d.Fill == nil { // zero, in every number type
		to := inBytes(p.to, s.elemSize())
		views.Walk(func(at, step []int, n int) {
			if step[0] == s.elemSize() {
				clear(dst[at[0]:][:n*s.elemSize()])
				return
			}
			for k := range n {
				clear(dst[at[0]+k*step[0]:][:s.elemSize()])
			}
		}, to)
		return
	}
	element := views.View{Offset: s.memberOffset, Stride: slices.Concat(make([]int, len(s.d.Shape)), s.stride)}
	s.gather(dst, s.d.Fill, p.to, p.from.Of(element))
}

// inBytes returns a view of elements as a view of bytes.
func inBytes(v views.View, unit int) views.View {
	w := views.View{Offset: v.Offset * unit, Shape: v.Shape, Stride: slices.Clone(v.Stride)}
	for axis := range w.Stride {
		w.Stride[axis] *= unit
	}
	return w
}

// gather copies numbers from src, where from selects them in bytes, to dst, where to
// selects them in elements, and converts them.
func (s *source) gather(dst, src []byte, to, from views.View) {
	in, out := s.size, s.elemSize()
	if s.convert == nil {
		storage.CopyStrided(dst, inBytes(to, out), src, from, in)
		return
	}
	views.Walk(func(at, step []int, n int) {
		if step[0] == out && step[1] == in {
			s.convert(dst[at[0]:at[0]+n*out], src[at[1]:at[1]+n*in])
		} else {
			s.convertRun(dst, src, at, step, n)
		}
	}, inBytes(to, out), from)
}

// copyStrided copies n elements with the given steps between them.
func copyStrided(dst, src []byte, to, from, dstep, sstep, n, size int) {
	switch size {
	case 1:
		for range n {
			dst[to] = src[from]
			to, from = to+dstep, from+sstep
		}
	case 4:
		for range n {
			*(*[4]byte)(dst[to:]) = *(*[4]byte)(src[from:])
			to, from = to+dstep, from+sstep
		}
	case 8:
		for range n {
			*(*[8]byte)(dst[to:]) = *(*[8]byte)(src[from:])
			to, from = to+dstep, from+sstep
		}
	default:
		for range n {
			copy(dst[to:to+size], src[from:from+size])
			to, from = to+dstep, from+sstep
		}
	}
}

// convertRun converts n elements with steps between them, through a small contiguous
// buffer.
func (s *source) convertRun(dst, src []byte, at, step []int, n int) {
	const block = 256
	in, out := s.size, s.elemSize()
	packed, made := make([]byte, block*in), make([]byte, block*out)
	to, from := at[0], at[1]
	for n > 0 {
		k := min(n, block)
		copyStrided(packed, src, 0, from, in, step[1], k, in)
		s.convert(made[:k*out], packed[:k*in])
		copyStrided(dst, made, to, 0, step[0], out, k, out)
		to, from, n = to+k*step[0], from+k*step[1], n-k
	}
}
