package native

// #include "pixels.h"
// #cgo noescape h5k_max_pool
// #cgo nocallback h5k_max_pool
// #cgo noescape h5k_max_pool_grad
// #cgo nocallback h5k_max_pool_grad
// #cgo noescape h5k_avg_pool
// #cgo nocallback h5k_avg_pool
// #cgo noescape h5k_avg_pool_grad
// #cgo nocallback h5k_avg_pool_grad
// #cgo noescape h5k_channel_sums
// #cgo nocallback h5k_channel_sums
// #cgo noescape h5k_channel_map
// #cgo nocallback h5k_channel_map
import "C"

import "unsafe"

// Windows slide over images x (N, C, Size) and have one element each in y (N, C, Out):
// h5k_windows of pixels.h, field by field. Images of one or two axes have sizes of 1 in
// front. Strides X, Y and At are of images, channels and the three spatial axes.
type Windows struct {
	N, C                          int64
	Size, Out                     [3]int64
	End                           [3]int64 // where averages stop counting padding
	Kernel, Stride, Dilation, Pad [3]int64
	X, Y, At                      [5]int64
	Apart                         int64 // 1 if windows do not overlap
	Exclude                       int64 // 1 if averages do not count the padding
}

var _ [unsafe.Sizeof(C.h5k_windows{})]byte = [unsafe.Sizeof(Windows{})]byte{}

func (w *Windows) c() *C.h5k_windows { return (*C.h5k_windows)(unsafe.Pointer(w)) }

// MaxPool sets y to each window's maximum and at, unless it is nil, to its index in the
// image, row-major, -1 for a window of padding only. Like all functions here it takes
// slices that begin at an operand's first element.
func (w *Windows) MaxPool(r ComputeType, y []byte, at []int32, x []byte) {
	C.h5k_max_pool(C.int(r), w.c(), pointer(y), int32s(at), pointer(x))
}

// MaxPoolGrad sets dx from dy and the indices of the maxima. Where y, unless it is nil,
// is not positive, the gradient is 0.
func (w *Windows) MaxPoolGrad(r ComputeType, dx, dy []byte, at []int32, y []byte) {
	C.h5k_max_pool_grad(C.int(r), w.c(), pointer(dx), pointer(dy), int32s(at), pointer(y))
}

func int32s(x []int32) *C.int32_t { return (*C.int32_t)(unsafe.Pointer(unsafe.SliceData(x))) }

// AvgPool sets y to each window's mean.
func (w *Windows) AvgPool(r ComputeType, y, x []byte) {
	C.h5k_avg_pool(C.int(r), w.c(), pointer(y), pointer(x))
}

// AvgPoolGrad sets dx from dy.
func (w *Windows) AvgPoolGrad(r ComputeType, dx, dy []byte) {
	C.h5k_avg_pool_grad(C.int(r), w.c(), pointer(dx), pointer(dy))
}

// Channels are elements (N, C, L) that are normalized for each c: h5k_channels of
// pixels.h, field by field.
type Channels struct {
	N, C, L  int64
	X, Y, DY [3]int64 // strides
	ReLU     int64    // 1 if the results of Map are at least 0
}

var _ [unsafe.Sizeof(C.h5k_channels{})]byte = [unsafe.Sizeof(Channels{})]byte{}

func (g *Channels) c() *C.h5k_channels { return (*C.h5k_channels)(unsafe.Pointer(g)) }

// Sums sets the first half of sums to Σ a and the second to Σ a·(x-pivot), where a is dy,
// or x-pivot if dy is nil. Where mask, unless it is nil, is not positive, dy counts as 0; it
// has the strides of dy. The order of the additions does not depend on the number of threads.
func (g *Channels) Sums(r ComputeType, sums []float64, dy, mask, x []byte, pivot []float64) error {
	return memory(C.h5k_channel_sums(C.int(r), g.c(), doubles(sums), pointer(dy), pointer(mask), pointer(x), doubles(pivot)))
}

// Map sets y = a·(x-pivot) + b·dy + k. constants are pivot, a, b and k of all channels,
// one after the other; dy may be nil.
func (g *Channels) Map(r ComputeType, y, x, dy, mask []byte, constants []float64) error {
	return memory(C.h5k_channel_map(C.int(r), g.c(), pointer(y), pointer(x), pointer(dy), pointer(mask), doubles(constants)))
}

func memory(status C.int) error {
	if status == 0 {
		return nil
	}
	return ErrMemory
}
