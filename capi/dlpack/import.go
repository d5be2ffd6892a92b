package dlpack

// #include "tensor.h"
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// MostAxes is the maximum number of axes, which is that of NumPy and PyTorch.
const MostAxes = 64

// Import returns an array that shares the memory of a DLManagedTensorVersioned, and a
// function that deletes the tensor. The caller must call it once, when no array uses
// the memory any more. After an error the tensor is not deleted.
func Import(managed unsafe.Pointer) (t Tensor, release func() error, err error) {
	m := (*C.DLManagedTensorVersioned)(managed)
	if m == nil {
		return t, nil, fmt.Errorf("import: NULL is no tensor: %w", storage.ErrState)
	}
	if m.version.major != version.major {
		return t, nil, fmt.Errorf("import: a tensor of DLPack %d.%d; h5dnn reads version %d: %w", m.version.major, m.version.minor, version.major, storage.ErrState)
	}
	if t.Array, err = Borrow(unsafe.Pointer(&m.dl_tensor)); err != nil {
		return t, nil, fmt.Errorf("import: %w", err)
	}
	t.ReadOnly = m.flags&C.DLPACK_FLAG_BITMASK_READ_ONLY != 0
	return t, releaser(t.Data, func() { C.dlpack_delete(m) }), nil
}

// ImportUnversioned is Import of a DLManagedTensor, DLPack's struct before 1.0.
func ImportUnversioned(managed unsafe.Pointer) (t Tensor, release func() error, err error) {
	m := (*C.DLManagedTensor)(managed)
	if m == nil {
		return t, nil, fmt.Errorf("import: NULL is no tensor: %w", storage.ErrState)
	}
	if t.Array, err = Borrow(unsafe.Pointer(&m.dl_tensor)); err != nil {
		return t, nil, fmt.Errorf("import: %w", err)
	}
	return t, releaser(t.Data, func() { C.dlpack_delete_unversioned(m) }), nil
}

// releaser returns the function that waits for the device's work on imported memory
// and deletes its tensor.
func releaser(memory storage.Storage, delete func()) func() error {
	return func() error {
		err := memory.Device().Sync()
		delete()
		return err
	}
}

// Borrow returns an array that shares the memory of a DLTensor, which the caller must
// keep as long as an array uses it.
func Borrow(tensor unsafe.Pointer) (storage.Array, error) {
	d := (*C.DLTensor)(tensor)
	if d == nil {
		return storage.Array{}, fmt.Errorf("NULL is no tensor: %w", storage.ErrState)
	}
	t, err := TypeOf(unsafe.Pointer(&d.dtype))
	if err != nil {
		return storage.Array{}, err
	}
	v, err := view(d)
	if err != nil {
		return storage.Array{}, err
	}
	start, size, err := span(d, v, t)
	if err != nil {
		return storage.Array{}, err
	}
	if lo, _ := v.Bounds(); v.Len() > 0 {
		v.Offset = -lo
	}
	data, err := lent(d.device, start, size)
	return storage.Array{Data: data, Type: t, View: v}, err
}

// view returns the view of a tensor, relative to its first element.
func view(d *C.DLTensor) (views.View, error) {
	if d.ndim < 0 || d.ndim > MostAxes {
		return views.View{}, fmt.Errorf("DLPack tensor of %d axes; 0 to %d are possible: %w", d.ndim, MostAxes, views.ErrShape)
	}
	if d.ndim > 0 && d.shape == nil {
		return views.View{}, fmt.Errorf("DLPack tensor of %d axes has no shape: %w", d.ndim, views.ErrShape)
	}
	shape := make([]int, d.ndim)
	for axis, size := range unsafe.Slice((*int64)(d.shape), d.ndim) {
		shape[axis] = int(size)
	}
	v, err := views.New(shape, math.MaxInt)
	if err != nil || d.strides == nil {
		return v, err
	}
	for axis, stride := range unsafe.Slice((*int64)(d.strides), d.ndim) {
		v.Stride[axis] = int(stride)
	}
	return v, nil
}

// span returns the start and the size, in bytes, of the memory that v covers.
func span(d *C.DLTensor, v views.View, t dtype.Type) (unsafe.Pointer, int, error) {
	if v.Len() == 0 {
		return nil, 0, nil
	}
	first := uintptr(d.data) + uintptr(d.byte_offset)
	if d.data == nil || first%uintptr(t.Align()) != 0 {
		return nil, 0, fmt.Errorf("DLPack tensor of %v%v at address %#x, which is not a multiple of %d from 1 on: %w", t, v.Shape, first, t.Align(), storage.ErrState)
	}
	elem, far := t.Size(), v
	far.Offset = math.MaxInt / 2 / elem
	lo, hi := v.Bounds()
	below, size := uintptr(-lo*elem), (hi-lo+1)*elem
	if start := first - below; first >= uintptr(d.data) && far.Within(2*far.Offset) && start+uintptr(size) > start {
		return pointer(start), size, nil
	}
	return nil, 0, fmt.Errorf("DLPack tensor of %v%v, with strides %v, reaches outside of all memory: %w", t, v.Shape, v.Stride, views.ErrShape)
}
