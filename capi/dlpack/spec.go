package dlpack

// #include "tensor.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// ShapeOf returns the type and the shape of a DLTensor, whose memory it does not look at.
func ShapeOf(tensor unsafe.Pointer) (dtype.Type, []int, error) {
	d := (*C.DLTensor)(tensor)
	if d == nil {
		return dtype.Invalid, nil, fmt.Errorf("NULL is no tensor: %w", storage.ErrState)
	}
	t, err := TypeOf(unsafe.Pointer(&d.dtype))
	if err != nil {
		return t, nil, err
	}
	v, err := view(d)
	return t, v.Shape, err
}

// SetShape sets the type and the shape of a DLTensor whose shape has space for [MostAxes] sizes.
func SetShape(tensor unsafe.Pointer, t dtype.Type, shape []int) error {
	d, c := (*C.DLTensor)(tensor), codes[t]
	if d.shape == nil || len(shape) > MostAxes {
		return fmt.Errorf("a result of %d axes, with space for sizes at %p; want space for %d: %w", len(shape), d.shape, MostAxes, views.ErrShape)
	}
	d.ndim, d.dtype = C.int32_t(len(shape)), C.DLDataType{code: C.uint8_t(c.kind), bits: C.uint8_t(c.bits), lanes: 1}
	for axis, size := range shape {
		unsafe.Slice((*int64)(d.shape), len(shape))[axis] = int64(size)
	}
	return nil
}
