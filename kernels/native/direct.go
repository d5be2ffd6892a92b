package native

// #include "direct.h"
// #cgo noescape h5k_direct_pack
// #cgo nocallback h5k_direct_pack
// #cgo noescape h5k_direct_run
// #cgo nocallback h5k_direct_run
// #cgo noescape h5k_direct_chain
// #cgo nocallback h5k_direct_chain
import "C"

import "unsafe"

// A Direct is a convolution by weights that are packed once: h5k_direct of direct.h, field by field.
// A depthwise one has a window for each channel. Results are the same bits on any number of threads.
type Direct struct {
	N, C, O                                int64
	XSize, YSize, Window, Stride, Dilation [3]int64
	Pad                                    [3]int64 // before x
	X                                      [5]int64 // strides of images, channels and axes
	Depthwise, BF16, Sum                   int64    // 0 or 1; Sum adds the results to y
	Low, High                              float32  // limits of y
}

var _ [unsafe.Sizeof(C.h5k_direct{})]byte = [unsafe.Sizeof(Direct{})]byte{}

// DepthwiseRows is the most rows that a window of a depthwise Direct has: Window[0]·Window[1].
const DepthwiseRows = C.H5K_DIRECT_ROWS

func (g *Direct) c() *C.h5k_direct { return (*C.h5k_direct)(unsafe.Pointer(g)) }

// Pack returns the weights w (O, C, window), or (C, 1, window), as Run takes them.
func (g *Direct) Pack(w []float32) ([]float32, error) {
	packed := aligned(int(C.h5k_direct_packed(g.c())))
	return packed, packedStatus(C.h5k_direct_pack(g.c(), floats(packed), C.int64_t(len(packed)), floats(w), C.int64_t(len(w))))
}

// aligned returns n floats at an address that is a multiple of 64.
func aligned(n int) []float32 {
	all := make([]float32, n+16)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(all)))/4) & 15
	return all[skip : skip+n : skip+n]
}

// Run sets y from x, weights of Pack and b, which may be nil.
func (g *Direct) Run(y, x, packed, b []float32) error {
	return packedStatus(C.h5k_direct_run(g.c(), floats(y), C.int64_t(len(y)), floats(x), C.int64_t(len(x)), floats(packed), C.int64_t(len(packed)), floats(b), C.int64_t(len(b))))
}

// A DirectChain is three convolutions in one; the first is absent if its N is 0: see h5k_direct_chain of direct.h.
type DirectChain [3]Direct

// Run sets y from x, weights of each Pack and biases, which may be nil.
func (g *DirectChain) Run(y, x []float32, w, b [3][]float32) error {
	return packedStatus(C.h5k_direct_chain(g[0].c(), floats(y), C.int64_t(len(y)), floats(x), C.int64_t(len(x)),
		floats(w[0]), C.int64_t(len(w[0])), floats(b[0]), C.int64_t(len(b[0])),
		floats(w[1]), C.int64_t(len(w[1])), floats(b[1]), C.int64_t(len(b[1])),
		floats(w[2]), C.int64_t(len(w[2])), floats(b[2]), C.int64_t(len(b[2]))))
}
