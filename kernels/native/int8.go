package native

// #include "int8.h"
// #cgo noescape h5k_int8_pack
// #cgo nocallback h5k_int8_pack
// #cgo noescape h5k_int8_run
// #cgo nocallback h5k_int8_run
import "C"

import (
	"math"
	"unsafe"
)

// Pack8 returns the weights w (O, C, window) as Run8 takes them: integers of 8 bits with a scale for each
// channel of y, the largest of its weights over 127. g is not depthwise.
func (g *Direct) Pack8(w []float32) ([]byte, error) {
	quantized, scales, _ := Quantize8(w, int(g.O))
	packed := aligned(int(C.h5k_int8_packed(g.c())+3) / 4)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(packed))), 4*len(packed))
	return bytes, packedStatus(C.h5k_int8_pack(g.c(), chars(bytes), C.int64_t(len(bytes)), (*C.int8_t)(unsafe.SliceData(quantized)), C.int64_t(len(quantized)), floats(scales), C.int64_t(len(scales))))
}

// Quantize8 returns the integers that Pack8 makes of weights of a number of channels, their scales, and whether
// they are the weights, but for rounding of float32.
func Quantize8(w []float32, channels int) (quantized []int8, scales []float32, exact bool) {
	each := len(w) / max(channels, 1)
	quantized, scales, exact = make([]int8, len(w)), make([]float32, channels), true
	for o := range scales {
		row := w[o*each : (o+1)*each]
		var most float32
		for _, v := range row {
			most = max(most, v, -v)
		}
		if scales[o] = most / 127; most == 0 {
			scales[o] = 1
		}
		for i, v := range row {
			q := math.RoundToEven(float64(v / scales[o]))
			quantized[o*each+i] = int8(q)
			exact = exact && math.Abs(q*float64(scales[o])-float64(v)) <= 1e-6*float64(most)
		}
	}
	return quantized, scales, exact
}

// Run8 is Run with weights of Pack8. x is rounded to round(x/scale) + zero, from 0 to 255, halves to even; if scale is 0, each image by its range.
func (g *Direct) Run8(y, x []float32, packed []byte, b []float32, scale, zero float32) error {
	return packedStatus(C.h5k_int8_run(g.c(), floats(y), C.int64_t(len(y)), floats(x), C.int64_t(len(x)), chars(packed), C.int64_t(len(packed)), floats(b), C.int64_t(len(b)), C.float(scale), C.float(zero)))
}

func chars(b []byte) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))) }

// Int8Products returns how many products of 8 bits the processor adds to a sum at once: 4 with AVX512-VNNI, 2 elsewhere.
func Int8Products() int { return int(C.h5k_int8_products()) }
