// Package dlpack shares arrays with other libraries in the process, such as NumPy and
// PyTorch, through the structs of DLPack 1
// (https://dmlc.github.io/dlpack/latest/c_api.html). Nothing is copied.
//
// The package defines who owns and frees the memory of a tensor.
package dlpack

// #include "tensor.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// A Tensor is an array in memory that other libraries can share.
type Tensor struct {
	storage.Array
	ReadOnly bool // its elements must not be changed
}

// A code is an element type of DLPack.
type code struct{ kind, bits uint8 }

var codes = map[dtype.Type]code{
	dtype.Bool:  {C.kDLBool, 8},
	dtype.Uint8: {C.kDLUInt, 8}, dtype.Uint16: {C.kDLUInt, 16}, dtype.Uint32: {C.kDLUInt, 32}, dtype.Uint64: {C.kDLUInt, 64},
	dtype.Int8: {C.kDLInt, 8}, dtype.Int16: {C.kDLInt, 16}, dtype.Int32: {C.kDLInt, 32}, dtype.Int64: {C.kDLInt, 64},
	dtype.Float16: {C.kDLFloat, 16}, dtype.BFloat16: {C.kDLBfloat, 16}, dtype.Float32: {C.kDLFloat, 32}, dtype.Float64: {C.kDLFloat, 64},
	dtype.Complex64: {C.kDLComplex, 64}, dtype.Complex128: {C.kDLComplex, 128},
	dtype.Float8E4M3: {C.kDLFloat8_e4m3fn, 8}, dtype.Float8E5M2: {C.kDLFloat8_e5m2, 8},
}

var types = func() map[code]dtype.Type {
	of := map[code]dtype.Type{}
	for t, c := range codes {
		of[c] = t
	}
	return of
}()

// TypeOf returns the element type that a DLDataType names.
func TypeOf(d unsafe.Pointer) (dtype.Type, error) {
	c := *(*C.DLDataType)(d)
	t, known := types[code{uint8(c.code), uint8(c.bits)}]
	if !known || c.lanes != 1 {
		return dtype.Invalid, fmt.Errorf("DLPack type of code %d, %d bits, %d lanes is not supported: %w", c.code, c.bits, c.lanes, dtype.ErrType)
	}
	return t, nil
}

// Describe fills in a DLTensor whose shape and strides have space for t's axes. Its
// data is NULL if t is in a file or has no elements.
func Describe(tensor unsafe.Pointer, t storage.Array) {
	d, c := (*C.DLTensor)(tensor), codes[t.Type]
	d.ndim = C.int32_t(t.Rank())
	d.dtype = C.DLDataType{code: C.uint8_t(c.kind), bits: C.uint8_t(c.bits), lanes: 1}
	shape, strides := axes(d)
	for axis := range shape {
		shape[axis], strides[axis] = int64(t.Shape[axis]), int64(t.Stride[axis])
	}
	d.device, d.data = place(t)
}

// axes returns a tensor's sizes and strides, which are not NULL.
func axes(d *C.DLTensor) (shape, strides []int64) {
	return unsafe.Slice((*int64)(d.shape), d.ndim), unsafe.Slice((*int64)(d.strides), d.ndim)
}
