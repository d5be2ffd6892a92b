package hdf5

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// writeFill writes the fill value to every element of a transfer.
func (s *source) writeFill(dst []byte, p transfer) {
	if s.d.Fill == nil { // zero, in every number type
		to := storage.InBytes(p.to, s.elemSize())
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

// gather copies numbers from src, where from selects them in bytes, to dst, where to
// selects them in elements, and converts them.
func (s *source) gather(dst, src []byte, to, from views.View) {
	in, out := s.size, s.elemSize()
	if s.convert == nil {
		storage.CopyStrided(dst, storage.InBytes(to, out), src, from, in)
		return
	}
	views.Walk(func(at, step []int, n int) {
		if step[0] == out && step[1] == in {
			s.convert(dst[at[0]:at[0]+n*out], src[at[1]:at[1]+n*in])
		} else {
			s.convertRun(dst, src, at, step, n)
		}
	}, storage.InBytes(to, out), from)
}

// convertRun converts n elements with steps between them, through a small contiguous buffer.
func (s *source) convertRun(dst, src []byte, at, step []int, n int) {
	const block = 4096
	in, out := s.size, s.elemSize()
	packed, made := make([]byte, min(n, block)*in), make([]byte, min(n, block)*out)
	for k := 0; k < n; k += block {
		shape := []int{min(n-k, block)}
		dense := func(size int) views.View { return views.View{Shape: shape, Stride: []int{size}} }
		strided := func(i int) views.View {
			return views.View{Offset: at[i] + k*step[i], Shape: shape, Stride: step[i : i+1]}
		}
		storage.CopyStrided(packed, dense(in), src, strided(1), in)
		s.convert(made[:shape[0]*out], packed[:shape[0]*in])
		storage.CopyStrided(dst, strided(0), made, dense(out), out)
	}
}
