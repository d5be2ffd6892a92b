package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// Array returns the array of x, which shares its memory. What is written to it reaches x,
// unseen by gradients.
func (x *Tensor) Array() storage.Array {
	x.tape.refuse("takes the memory of a tensor")
	return x.array
}

// SetArray makes x, a leaf, refer to another array of its shape and type, without a copy.
// Expressions computed from x before can no longer be differentiated.
func (x *Tensor) SetArray(a storage.Array) {
	switch {
	case x.node != nil:
		fail("set array", ErrState, "%v was computed; want a leaf", x.array)
	case a.Type != x.array.Type || !slices.Equal(a.Shape, x.array.Shape):
		fail("set array", ErrShape, "%v into %v; want the same type and shape", a, x.array)
	}
	x.array = a
}

// DType returns the type of the elements of x.
func (x *Tensor) DType() dtype.Type { return x.array.Type }

// Shape returns the sizes of the axes, which the caller must not change.
func (x *Tensor) Shape() []int { return x.array.Shape }

// Strides returns the distance, in elements, between neighbours along each axis, which the
// caller must not change.
func (x *Tensor) Strides() []int { return x.array.Stride }

// StorageOffset returns the position of the first element in the storage, in elements.
func (x *Tensor) StorageOffset() int { return x.array.Offset }

// Storage returns the memory of x, which tensors that are views of one another share.
func (x *Tensor) Storage() storage.Storage { return x.array.Data }

// Device returns the device of the memory of x.
func (x *Tensor) Device() storage.Device { return x.array.Data.Device() }

// Rank returns the number of axes.
func (x *Tensor) Rank() int { return x.array.Rank() }

// Len returns the number of elements.
func (x *Tensor) Len() int { return x.array.Len() }

// NBytes returns the size of the elements in bytes.
func (x *Tensor) NBytes() int { return x.array.NBytes() }

// IsContiguous reports whether the elements lie one after another, in row-major order.
func (x *Tensor) IsContiguous() bool { return x.array.Contiguous() }
