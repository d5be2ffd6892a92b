package native

// #include "recurrent.h"
// #cgo noescape h5k_recurrent_pack
// #cgo nocallback h5k_recurrent_pack
// #cgo noescape h5k_recurrent_forward
// #cgo nocallback h5k_recurrent_forward
// #cgo noescape h5k_recurrent_backward
// #cgo nocallback h5k_recurrent_backward
import "C"

import "unsafe"

// A Recurrent is a layer of recurrent cells over the steps of sequences: h5k_recurrent of recurrent.h, field by field. Operands are dense,
// of F32 or F64, and nil for those that are left out. Results are the same bits on any number of threads.
type Recurrent struct {
	Cell             int64 // 0 RNN, 1 LSTM, 2 GRU, 3 GRU with the reset before the product
	Real             int64 // a ComputeType
	Reverse          int64 // 0 or 1
	Steps, N, Hidden int64
}

var _ [unsafe.Sizeof(C.h5k_recurrent{})]byte = [unsafe.Sizeof(Recurrent{})]byte{}

func (r *Recurrent) c() *C.h5k_recurrent { return (*C.h5k_recurrent)(unsafe.Pointer(r)) }

// Pack returns weights w (gates·hidden, hidden) of F32 as Forward takes them.
func (r *Recurrent) Pack(w []byte) []byte {
	packed := aligned(int(C.h5k_recurrent_packed(r.c())))
	C.h5k_recurrent_pack(r.c(), unsafe.Pointer(unsafe.SliceData(packed)), pointer(w))
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(packed))), 4*len(packed))
}

// Forward sets y, the states h and c after the last step and, for Backward, gates and extra, from x, the products of the input, the weights of Pack, or w if
// they are nil, the bias b, and the states before.
func (r *Recurrent) Forward(packed, w, x, b, h0, c0, y, h, c, gates, extra []byte) error {
	return packedStatus(C.h5k_recurrent_forward(r.c(), pointer(packed), pointer(w), pointer(x), pointer(b), pointer(h0), pointer(c0),
		pointer(y), pointer(h), pointer(c), pointer(gates), pointer(extra)))
}

// Backward sets the gradients dx of x, dp of the products of the state, nil where they are dx, dh0 and dc0.
func (r *Recurrent) Backward(w, h0, c0, y, gates, extra, dy, dh, dc, dx, dp, dh0, dc0 []byte) error {
	return packedStatus(C.h5k_recurrent_backward(r.c(), pointer(w), pointer(h0), pointer(c0), pointer(y), pointer(gates), pointer(extra),
		pointer(dy), pointer(dh), pointer(dc), pointer(dx), pointer(dp), pointer(dh0), pointer(dc0)))
}
