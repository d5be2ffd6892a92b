package native

// #include "winograd.h"
// #cgo noescape h5k_winograd_conv
// #cgo nocallback h5k_winograd_conv
// #cgo noescape h5k_winograd_grad_x
// #cgo nocallback h5k_winograd_grad_x
// #cgo noescape h5k_winograd_grad_w
// #cgo nocallback h5k_winograd_grad_w
import "C"

import (
	"os"
	"unsafe"
)

// A Winograd is a convolution of x (N,C,XSize) by w (O,C,3,3), dense, to y (N,O,YSize) with
// stride 1 that is computed by Winograd's algorithm F(4x4,3x3): h5k_winograd of winograd.h, field by
// field. Channels are adjacent and multiples of 16.
//
// Its rounding errors are three to four times those of the sum of products, and a pixel that
// is infinite or NaN makes all results of its tile, 4x4 pixels, NaN. Results are the same bits
// whenever the number of threads is the same.
type Winograd struct {
	N, C, O      int64
	XSize, YSize [2]int64
	Pad          [2]int64 // above and to the left of x
	X, Y         [3]int64 // strides of images, rows and columns
	ReLU         int64    // 1 if the results of Conv are at least 0
}

var _ [unsafe.Sizeof(C.h5k_winograd{})]byte = [unsafe.Sizeof(Winograd{})]byte{}

func (g *Winograd) c() *C.h5k_winograd { return (*C.h5k_winograd)(unsafe.Pointer(g)) }

// winograd is whether Winograd's algorithm is used: unless H5DNN_WINOGRAD=off is in the environment.
var winograd = os.Getenv("H5DNN_WINOGRAD") != "off"

// Faster reports whether the convolution should be computed so. It counts multiplications for
// each tile and pair of channels: 9 for each result by the sum of products; 36, and what the
// transforms of x, y and w take, by Winograd's algorithm.
func (g *Winograd) Faster() bool {
	tiles := float64(g.N * ((g.YSize[0] + 3) / 4) * ((g.YSize[1] + 3) / 4))
	if !winograd || tiles == 0 || g.C%16 != 0 || g.O%16 != 0 {
		return false
	}
	direct := 9 * float64(g.N*g.YSize[0]*g.YSize[1]) / tiles
	return 36+200/float64(g.O)+200/float64(g.C)+700/tiles < 0.8*direct
}

// Conv sets y from x, w and b, which may be nil, and z, which may be y, to act(y). Like all functions
// here it takes slices that begin at an operand's first element.
func (g *Winograd) Conv(y, x, w, b []float32, act Op, z []float32) error {
	return memory(C.h5k_winograd_conv(g.c(), floats(y), floats(x), floats(w), floats(b), C.int(act), floats(z)))
}

// GradX sets dx from dy and w.
func (g *Winograd) GradX(dx, dy, w []float32) error {
	return memory(C.h5k_winograd_grad_x(g.c(), floats(dx), floats(dy), floats(w)))
}

// GradW sets dw and, unless it is nil, db from x and dy.
func (g *Winograd) GradW(dw, db, x, dy []float32) error {
	return memory(C.h5k_winograd_grad_w(g.c(), floats(dw), floats(db), floats(x), floats(dy)))
}
