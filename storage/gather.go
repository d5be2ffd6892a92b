package storage

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// Gather copies the elements of src that v selects to dst, in row-major order.
// It panics if there are fewer elements in src, or less room in dst.
func Gather(dst, src []byte, t dtype.Type, v views.View) {
	if v.Contiguous() {
		n := v.Len() * t.Size()
		if n > 0 {
			copy(dst[:n], src[v.Offset*t.Size():][:n])
		}
		return
	}
	transpose(dst, views.Of(v.Shape...), src, v, t.Size())
}

// Scatter copies elements given in row-major order to where v shows them in
// dst: the inverse of Gather.
func Scatter(dst, src []byte, t dtype.Type, v views.View) {
	transpose(dst, v, src, views.Of(v.Shape...), t.Size())
}

// transpose copies elements of the given size from where one view shows them to
// where an equally shaped other does.
func transpose(dst []byte, to views.View, src []byte, from views.View, size int) {
	if !to.Within(len(dst)/size) || !from.Within(len(src)/size) {
		panic(fmt.Sprintf("storage: views of %v reach outside %d and %d bytes", to.Shape, len(dst), len(src)))
	}
	move := loop(dst, src, size)
	d, s := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src))
	views.Walk(func(at, step []int, n int) {
		if step[0] == 1 && step[1] == 1 {
			copy(dst[at[0]*size:(at[0]+n)*size], src[at[1]*size:])
			return
		}
		move(unsafe.Add(d, at[0]*size), unsafe.Add(s, at[1]*size), step[0]*size, step[1]*size, n)
	}, to, from)
}

// loop returns what copies n elements, dstep and sstep bytes apart. The caller
// has checked that they are there.
func loop(dst, src []byte, size int) func(dst, src unsafe.Pointer, dstep, sstep, n int) {
	if !loadable(dst, size) || !loadable(src, size) {
		size = -size
	}
	switch size {
	case 1, -1:
		return strided[uint8]
	case 2:
		return strided[uint16]
	case 4:
		return strided[uint32]
	case 8:
		return strided[uint64]
	case 16:
		return strided[[2]uint64]
	case -2:
		return strided[[2]uint8]
	case -4:
		return strided[[4]uint8]
	case -8:
		return strided[[8]uint8]
	case -16:
		return strided[[16]uint8]
	}
	panic(fmt.Sprintf("storage: elements of %d bytes", size))
}

// loadable reports whether elements of b can be read as integers of their size.
func loadable(b []byte, size int) bool {
	return runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(min(size, 8)) == 0
}

func strided[T any](dst, src unsafe.Pointer, dstep, sstep, n int) {
	for ; n > 1; n-- {
		*(*T)(dst) = *(*T)(src)
		dst, src = unsafe.Add(dst, dstep), unsafe.Add(src, sstep)
	}
	*(*T)(dst) = *(*T)(src) // the last: a pointer beyond it would point nowhere
}
