package native

// #include "winograd.h"
// #cgo noescape h5k_winograd_conv
// #cgo nocallback h5k_winograd_conv
// #cgo noescape h5k_winograd_grad_x
// #cgo nocallback h5k_winograd_grad_x
// #cgo noescape h5k_winograd_grad_w
// #cgo nocallback h5k_winograd_grad_w
// #cgo noescape h5k_winograd_pack
// #cgo nocallback h5k_winograd_pack
// #cgo noescape h5k_winograd_run
// #cgo nocallback h5k_winograd_run
import "C"

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/h5dnn/h5dnn/views"
)

// A Winograd is a convolution of x (N,C,XSize) by w (O,C,Window), dense, to y (N,O,YSize) with
// stride 1 that is computed by Winograd's algorithm: h5k_winograd of winograd.h, field by
// field. Channels are adjacent and multiples of 16. Windows are 3x3, or 1x3 to 1x7.
//
// Its rounding errors are three to four times the errors of the sum of products, and a pixel that
// is infinite or NaN makes all results of its tile NaN: 4x4 pixels, or 9-r for windows of r pixels. Results are the same bits
// whenever the number of threads is the same.
type Winograd struct {
	N, C, O      int64
	XSize, YSize [2]int64
	Window       [2]int64
	Pad          [2]int64 // above and to the left of x
	X, Y         [3]int64 // strides of images, rows and columns
	ReLU         int64    // 1 if the results of Conv are at least 0
	Sum          int64    // 1 if the results of Conv are added to y
}

var _ [unsafe.Sizeof(C.h5k_winograd{})]byte = [unsafe.Sizeof(Winograd{})]byte{}

func (g *Winograd) c() *C.h5k_winograd { return (*C.h5k_winograd)(unsafe.Pointer(g)) }

// winograd is whether Winograd's algorithm is used: unless H5DNN_WINOGRAD=off is in the environment.
var winograd = os.Getenv("H5DNN_WINOGRAD") != "off"

// An algorithm computes a tile of results by multiplications at some points for each pair of channels. What
// else it takes is counted in such multiplications: for each channel to transform a tile of x or
// y, and for each pair of channels to transform a window of w. It is chosen if it takes less than that
// part of the multiplications of the sum of products, whose loops are the better ones.
type algorithm struct {
	tile                   [2]int64
	points, pixels, window float64
	part                   float64
}

// algorithm returns the algorithm for the window, or false for other windows.
func (g *Winograd) algorithm() (a algorithm, ok bool) {
	switch r := g.Window[1]; {
	case g.Window == [2]int64{3, 3}:
		return algorithm{tile: [2]int64{4, 4}, points: 36, pixels: 200, window: 700, part: 0.8}, true
	case g.Window[0] == 1 && r >= 3 && r <= 7:
		return algorithm{tile: [2]int64{1, 9 - r}, points: 8, pixels: 100, window: 60, part: 0.9}, true
	}
	return a, false
}

// Faster reports whether the convolution should be computed so.
func (g *Winograd) Faster() bool {
	a, ok := g.algorithm()
	if !ok || !winograd || g.C%16 != 0 || g.O%16 != 0 {
		return false
	}
	tiles := float64(g.N * ((g.YSize[0] + a.tile[0] - 1) / a.tile[0]) * ((g.YSize[1] + a.tile[1] - 1) / a.tile[1]))
	if tiles == 0 {
		return false
	}
	direct := float64(g.N*g.YSize[0]*g.YSize[1]*g.Window[0]*g.Window[1]) / tiles
	return a.points+a.pixels/float64(g.O)+a.pixels/float64(g.C)+a.window/tiles < a.part*direct
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

// FasterPacked is Faster for weights that are transformed once, beside a [Direct]. They are read for each tile: a
// multiplication takes as long as half a byte of them.
func (g *Winograd) FasterPacked() bool {
	a, ok := g.algorithm()
	if !ok || !winograd || g.C%16 != 0 || g.O%16 != 0 {
		return false
	}
	tiles := float64(g.N * ((g.YSize[0] + a.tile[0] - 1) / a.tile[0]) * ((g.YSize[1] + a.tile[1] - 1) / a.tile[1]))
	if tiles == 0 {
		return false
	}
	const read = 12 // multiplications as long as the reading of a weight
	taps := float64(g.Window[0] * g.Window[1])
	direct := float64(g.N*g.YSize[0]*g.YSize[1])*taps/tiles + read*taps/tiles
	return a.points+a.pixels/float64(g.O)+a.pixels/float64(g.C)+read*a.points/tiles < a.part*direct
}

// Pack returns the weights w (O,C,Window) as RunPacked takes them.
func (g *Winograd) Pack(w []float32) ([]float32, error) {
	packed := aligned(int(C.h5k_winograd_packed(g.c())))
	return packed, packedStatus(C.h5k_winograd_pack(g.c(), floats(packed), C.int64_t(len(packed)), floats(w), C.int64_t(len(w))))
}

// RunPacked sets y from x, weights of Pack and b, which may be nil.
func (g *Winograd) RunPacked(y, x, packed, b []float32) error {
	return packedStatus(C.h5k_winograd_run(g.c(), floats(y), C.int64_t(len(y)), floats(x), C.int64_t(len(x)), floats(packed), C.int64_t(len(packed)), floats(b), C.int64_t(len(b))))
}

func packedStatus(status C.int) error {
	switch status {
	case 0:
		return nil
	case -1:
		return ErrMemory
	}
	return fmt.Errorf("an operand is shorter than its shape: %w", views.ErrShape)
}
