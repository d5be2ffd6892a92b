package launch

import "github.com/h5dnn/h5dnn/dtype"

// A Multiplier is a GPU that may have a library of matrix products, which is tried before
// the kernels of package device are launched.
type Multiplier interface {
	// Multiply issues p. It reports false, having issued nothing, for products it
	// leaves to the kernels.
	Multiply(p Product) (done bool, err error)
	// WritesMasks reports whether a library is there for products of a type with a Mask. It
	// may still leave some of them to the kernels.
	WritesMasks(t dtype.Type) bool
}

// A Product is z = x·y, z = act(x·y + bias), z = x·y and the sums of x's rows, or z = x·y where a mask is set and 0
// elsewhere, of matrices x (M,K), y (K,N) and z (M,N) of one type. None of its sizes is 0.
type Product struct {
	Type             dtype.Type
	M, N, K, Batches int
	X, Y, Z          Matrix
	Bias             uint64 // the address of N contiguous elements; 0 for none
	Relu             bool   // whether the activation is a ReLU
	RowSums          uint64 // the address of the sums of M rows of x; 0 for none, as with a bias or several batches
	Mask             uint64 // the address of M rows of MaskBytes(N) bytes, written with a ReLU and else read; 0 for none, as with several batches
}

// MaskBytes returns the size of a row of the mask of n columns.
func MaskBytes(n int) int { return Ceil(n, maskBits) * maskBits / 8 }

// maskBits is what the length of a mask's row is a multiple of (CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD of cublasLt.h).
const maskBits = 128

// A Matrix is the address and the strides, in elements, of a matrix in a GPU's memory.
type Matrix struct {
	Address             uint64
	Down, Across, Batch int
}

// A Convolver is a GPU that may have a library for convolutions.
type Convolver interface {
	// Convolve issues c, or returns false if the library has no such kernel.
	Convolve(c Convolution) (done bool, err error)
}

// A Convolution is a convolution or one of its two gradients. Its arrays are not empty
// and dense, all channels-last or all row-major.
type Convolution struct {
	Type         dtype.Type
	Computes     Operand
	X, W, Y      Image // (N,C,…), (O,C/Groups,…), (N,O,…)
	ChannelsLast bool
	Groups       int
	// By spatial axis; Padding is the same before and after.
	Stride, Dilation, Padding [3]int
	Bias                      uint64 // the address of O contiguous elements; 0 for none
	Relu                      bool   // of y; there is a bias if and only if there is a relu
	// Before, unless it is nil, is called just before the convolution is issued, and
	// issues the copy of W.
	Before func() error
}

// A Rounder is a GPU that may have been allowed to round the factors of float32
// products to TF32, whose mantissa has 10 bits.
type Rounder interface{ RoundsToTF32() bool }

// An Operand is the array of a convolution that is computed from the other two.
type Operand int

// The operands of a convolution.
const (
	OperandY Operand = iota // the convolution itself
	OperandX                // its gradient with respect to x
	OperandW                // its gradient with respect to w
)

// An Image is the address, shape and strides of an array of Rank axes, four or five, in a
// GPU's memory.
type Image struct {
	Address      uint64
	Rank         int
	Size, Stride [5]int
}

// Library returns the target's GPU as one that may have a library.
func Library[L any](t Target) (library L, ok bool) {
	library, ok = t.GPU.(L)
	return library, ok
}
