package native

// #include "blas.h"
// #include "matmul.h"
// #cgo noescape h5k_product_f32
// #cgo nocallback h5k_product_f32
// #cgo noescape h5k_product_f64
// #cgo nocallback h5k_product_f64
import "C"

import (
	"fmt"
	"unsafe"
)

// BatchAxes is how many leading axes a [Product] may have.
const BatchAxes = C.H5K_BATCH_AXES

// A Product is z (M,N) = x (M,K) · y (K,N), for every index of the batch axes: h5k_product
// of matmul.h, field by field. Strides count elements and may have any value.
type Product struct {
	M, N, K                int64
	X, Y, Z                [2]int64 // strides of rows and columns
	Axes                   int64
	Batch                  [BatchAxes]int64
	XBatch, YBatch, ZBatch [BatchAxes]int64 // strides of the batch axes
}

var _ [unsafe.Sizeof(C.h5k_product{})]byte = [unsafe.Sizeof(Product{})]byte{}

func (p *Product) c() *C.h5k_product { return (*C.h5k_product)(unsafe.Pointer(p)) }

// HasBLAS reports whether OpenBLAS was found, which products of float64 need.
func HasBLAS() bool { return C.h5k_blas() != nil }

// MultiplyF32 computes p. Each slice begins at its operand's first element.
func (p *Product) MultiplyF32(z, x, y []float32) error {
	if err := loadDNNL(); err != nil {
		return err
	}
	return productStatus(C.h5k_product_f32(p.c(), floats(z), floats(x), floats(y)))
}

// MultiplyF64 is MultiplyF32 for float64.
func (p *Product) MultiplyF64(z, x, y []float64) error {
	return productStatus(C.h5k_product_f64(p.c(), doubles(z), doubles(x), doubles(y)))
}

func doubles(x []float64) *C.double { return (*C.double)(unsafe.Pointer(unsafe.SliceData(x))) }

func productStatus(status C.int) error {
	if status == 0 {
		return nil
	}
	return fmt.Errorf("product failed (status %d)", status)
}
