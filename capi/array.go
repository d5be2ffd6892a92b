package main

// #include <stdlib.h>
// #include "exports.h"
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/h5dnn/h5dnn/capi/dlpack"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// An array is an array that C has a handle of.
type array struct {
	dlpack.Tensor
	owner     *owner // of imported memory
	once      sync.Once
	described *C.DLTensor    // the description in C memory; nil until C asks for it
	pinned    runtime.Pinner // pins the Go memory that described refers to
}

func isGPU(name string) bool { return strings.HasPrefix(name, "cuda") }

// onGPU reports whether a tensor that C describes is on a GPU.
func onGPU(m *C.memory) bool { return m != nil && m.device.device_type == C.kDLCUDA }

//export h5dnn_make
func h5dnn_make(where *C.text, t C.DLDataType, ndim C.int32_t, shape *C.sizes, out *C.h5dnn_array) C.h5dnn_status {
	name := C.GoString(where)
	return callOn(isGPU(name), func() error {
		typ, err := dlpack.TypeOf(unsafe.Pointer(&t))
		if err != nil {
			return err
		}
		if ndim < 0 || ndim > dlpack.MostAxes || ndim > 0 && shape == nil {
			return fmt.Errorf("make: %d axes with sizes at %p; want 0 to %d axes: %w", ndim, shape, dlpack.MostAxes, views.ErrShape)
		}
		d, err := storage.DeviceNamed(name)
		if err != nil {
			return err
		}
		sizes := make([]int, ndim)
		for axis, size := range unsafe.Slice(shape, ndim) {
			sizes[axis] = int(size)
		}
		zeros, err := storage.Make(storage.CPU, typ, sizes...)
		if err != nil {
			return err
		}
		a, err := zeros.To(d)
		if err != nil {
			return err
		}
		return hold(out, &array{Tensor: dlpack.Tensor{Array: a}})
	})
}

//export h5dnn_slice
func h5dnn_slice(h C.h5dnn_array, index *C.text, out *C.h5dnn_array) C.h5dnn_status {
	return call(func() error {
		a, err := held[*array](h)
		if err != nil {
			return err
		}
		part, err := a.slice(index)
		if err != nil {
			return err
		}
		return a.show(out, part)
	})
}

// slice returns what an index selects of a.
func (a *array) slice(index *C.text) (storage.Array, error) { return a.Index(C.GoString(index)) }

// show returns a handle of b, which may share a's memory.
func (a *array) show(out *C.h5dnn_array, b storage.Array) error {
	shown := &array{Tensor: dlpack.Tensor{Array: b}}
	if b.Data == a.Data {
		shown.ReadOnly, shown.owner = a.ReadOnly, a.owner
	}
	if err := hold(out, shown); err != nil {
		return err
	}
	shown.owner.enter()
	return nil
}

//export h5dnn_describe
func h5dnn_describe(h C.h5dnn_array, out *C.described) C.h5dnn_status {
	return call(func() error {
		a, err := held[*array](h)
		if err != nil {
			return err
		}
		a.once.Do(func() {
			rank := C.size_t(a.Rank())
			memory := C.calloc(1, C.sizeof_DLTensor+2*rank*C.sizeof_int64_t)
			a.described = (*C.DLTensor)(memory)
			a.described.shape = (*C.int64_t)(unsafe.Add(memory, C.sizeof_DLTensor))
			a.described.strides = (*C.int64_t)(unsafe.Add(memory, C.sizeof_DLTensor+rank*C.sizeof_int64_t))
			dlpack.Describe(memory, a.Array)
			if a.described.device.device_type == C.kDLCPU && a.described.data != nil {
				a.pinned.Pin((*byte)(a.described.data))
			}
		})
		return put(out, C.described(a.described))
	})
}

//export h5dnn_read
func h5dnn_read(h C.h5dnn_array, index *C.text, into *C.memory) C.h5dnn_status {
	return callOn(onGPU(into), func() error {
		a, to, err := pair(h, index, into)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		return copied(a.Array, to)
	})
}

//export h5dnn_write
func h5dnn_write(h C.h5dnn_array, index *C.text, from *C.memory) C.h5dnn_status {
	return callOn(onGPU(from), func() error {
		a, source, err := pair(h, index, from)
		if err == nil && a.ReadOnly {
			err = fmt.Errorf("%v was imported as read-only: %w", a.Array, storage.ErrState)
		}
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		return copied(source, a.Array)
	})
}

// pair returns the slice of an array and the tensor that C describes.
func pair(h C.h5dnn_array, index *C.text, m *C.memory) (part dlpack.Tensor, other storage.Array, err error) {
	a, err := held[*array](h)
	if err != nil {
		return part, other, err
	}
	part.ReadOnly = a.ReadOnly
	if part.Array, err = a.slice(index); err == nil {
		other, err = dlpack.Borrow(unsafe.Pointer(m))
	}
	return part, other, err
}

// copied copies elements and waits for the copy.
func copied(from, to storage.Array) error {
	if err := from.CopyTo(to); err != nil {
		return err
	}
	return to.Data.Device().Sync()
}

//export h5dnn_move
func h5dnn_move(h C.h5dnn_array, where *C.text, out *C.h5dnn_array) C.h5dnn_status {
	name := C.GoString(where)
	return callOn(isGPU(name), func() error {
		a, err := held[*array](h)
		if err != nil {
			return err
		}
		d, err := storage.DeviceNamed(name)
		if err != nil {
			return err
		}
		if a.Data.Device() == d {
			return a.show(out, a.Array)
		}
		moved, err := a.To(d)
		if err != nil {
			return err
		}
		return a.show(out, moved)
	})
}

//export h5dnn_free
func h5dnn_free(h C.h5dnn_array) C.h5dnn_status {
	return call(func() error {
		a, err := drop[*array](h)
		if err != nil {
			return err
		}
		C.free(unsafe.Pointer(a.described))
		a.pinned.Unpin()
		return a.owner.leave()
	})
}
