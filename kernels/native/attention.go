package native

// #include "attention.h"
// #cgo noescape h5k_attend
// #cgo nocallback h5k_attend
// #cgo noescape h5k_attend_grad
// #cgo nocallback h5k_attend_grad
import "C"

import (
	"errors"
	"unsafe"
)

// The masks of an [Attention]: none, bytes that are not 0 where a query takes a key, or floats to add to the scores.
const (
	NoMask    = C.H5K_NO_MASK
	KeepsMask = C.H5K_KEEPS
	AddsMask  = C.H5K_ADDS
)

// An Attention is scaled dot-product attention by blocks of keys: h5k_attention of attention.h, field by field. Results are
// the same bits on any number of threads.
type Attention struct {
	N, Heads, Groups, T, S, D, E int64
	Q, K, V, Y                   [3]int64 // strides of samples, heads and rows, whose elements are adjacent
	DY, DQ, DK, DV               [3]int64
	Mask                         int64
	MaskStride                   [4]int64
	Causal                       int64
	Drops, Least                 int64
	Seed, Stream                 uint64
	Scale, Kept                  float64
}

var _ [unsafe.Sizeof(C.h5k_attention{})]byte = [unsafe.Sizeof(Attention{})]byte{}

func (g *Attention) c() *C.h5k_attention { return (*C.h5k_attention)(unsafe.Pointer(g)) }

var errAttention = errors.New("no memory for blocks of attention")

// Run sets y and, unless it is nil, lse. Each slice begins at its operand's first element; mask is bytes of it, or nil.
func (g *Attention) Run(y, lse, q, k, v []float32, mask []byte) error {
	if C.h5k_attend(g.c(), floats(y), floats(lse), floats(q), floats(k), floats(v), unsafe.Pointer(unsafe.SliceData(mask))) != 0 {
		return errAttention
	}
	return nil
}

// Grad sets dq, dk and dv from the operands and results of Run, and the gradient of y.
func (g *Attention) Grad(dq, dk, dv, q, k, v, y, dy, lse []float32, mask []byte) error {
	if C.h5k_attend_grad(g.c(), floats(dq), floats(dk), floats(dv), floats(q), floats(k), floats(v), floats(y), floats(dy), floats(lse), unsafe.Pointer(unsafe.SliceData(mask))) != 0 {
		return errAttention
	}
	return nil
}
