// Package images is compiled loops over one image: warps, colors, blurs, for each instruction set.
//
// It knows slices and strides. What a change of an image is for, and its random numbers, belong to package augment.
package images

// #cgo CFLAGS: -O3 -std=c11 -Wall -Wextra
// #include "images.h"
// #include <stdlib.h>
// #cgo noescape h5k_warp_image
// #cgo nocallback h5k_warp_image
// #cgo noescape h5k_warp_nearest
// #cgo nocallback h5k_warp_nearest
// #cgo noescape h5k_color
// #cgo nocallback h5k_color
// #cgo noescape h5k_lookup
// #cgo nocallback h5k_lookup
// #cgo noescape h5k_blur
// #cgo nocallback h5k_blur
import "C"

import (
	"unsafe"

	"github.com/h5dnn/h5dnn/kernels/native"
)

func init() {
	isa := C.CString(native.ISA())
	defer C.free(unsafe.Pointer(isa))
	C.h5k_images_for(isa)
}

func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// A PixelType is the type of the elements of an image that C computes with.
type PixelType C.int

// The types of pixels.
const (
	Bytes  PixelType = C.H5K_BYTES
	Floats PixelType = C.H5K_FLOATS
)

// What is outside of an image.
const (
	BorderConstant int64 = C.H5K_CONSTANT // a number
	BorderEdge     int64 = C.H5K_EDGE     // the nearest pixel
	BorderReflect  int64 = C.H5K_REFLECT  // the image, mirrored at the center of its last pixel
)

// An Image is C channels of H rows of W pixels: h5k_image of images.h, field by field. Strides count elements.
type Image struct{ C, H, W, Channel, Row, Pixel int64 }

// A Warp says where the pixels of an image come from: h5k_warp of images.h, field by field.
type Warp struct {
	M       [6]int64 // maps (column, row) of the result to (column, row) of the source, times 2³²
	Samples int64    // for each pixel, along both axes
	Border  int64
	Fill    float64
}

// Colors are N colors of C channels: h5k_colors of images.h, field by field.
type Colors struct {
	C, N, Channel, Pixel int64
	Max                  float64 // to which floats are limited
}

var (
	_ [unsafe.Sizeof(C.h5k_image{})]byte  = [unsafe.Sizeof(Image{})]byte{}
	_ [unsafe.Sizeof(C.h5k_warp{})]byte   = [unsafe.Sizeof(Warp{})]byte{}
	_ [unsafe.Sizeof(C.h5k_colors{})]byte = [unsafe.Sizeof(Colors{})]byte{}
)

func (g *Image) c() *C.h5k_image { return (*C.h5k_image)(unsafe.Pointer(g)) }
func (w *Warp) c() *C.h5k_warp   { return (*C.h5k_warp)(unsafe.Pointer(w)) }

// Apply sets the image y to the warped image x.
func (w *Warp) Apply(t PixelType, to *Image, y []byte, from *Image, x []byte) {
	C.h5k_warp_image(C.int(t), w.c(), to.c(), pointer(y), from.c(), pointer(x))
}

// ApplyNearest sets each pixel of y, whose elements have len(fill) bytes, to the nearest pixel of x, or to fill outside.
func (w *Warp) ApplyNearest(fill []byte, to *Image, y []byte, from *Image, x []byte) {
	C.h5k_warp_nearest(C.int(len(fill)), w.c(), pointer(fill), to.c(), pointer(y), from.c(), pointer(x))
}

// A ColorChange is what Change does.
type ColorChange C.int

// The changes of colors, by factors·2⁻¹⁶, and for Hue by sixths of the circle·2⁻¹².
const (
	Brightness ColorChange = C.H5K_BRIGHTNESS
	Contrast   ColorChange = C.H5K_CONTRAST
	Saturation ColorChange = C.H5K_SATURATION
	Hue        ColorChange = C.H5K_HUE
)

// Change changes the colors x in place.
func (g *Colors) Change(t PixelType, what ColorChange, x []byte, factor int64) {
	C.h5k_color(C.int(t), C.int(what), (*C.h5k_colors)(unsafe.Pointer(g)), pointer(x), C.int64_t(factor))
}

// Lookup replaces each byte of x by its entry of table.
func Lookup(x []byte, table *[256]uint8) {
	C.h5k_lookup(C.int64_t(len(x)), (*C.uint8_t)(unsafe.SliceData(x)), (*C.uint8_t)(&table[0]))
}

// Blur sets y, which may be x, to the convolution of x with a kernel along both axes, whose weights are symmetric and
// have the sum 2¹⁶.
func (g *Image) Blur(t PixelType, y, x []byte, kernel []uint32) error {
	if C.h5k_blur(C.int(t), g.c(), pointer(y), pointer(x), C.int64_t(len(kernel)), (*C.uint32_t)(unsafe.SliceData(kernel))) == 0 {
		return native.ErrMemory
	}
	return nil
}
