package main

// #include "exports.h"
import "C"

import (
	"sync"
	"unsafe"

	"github.com/h5dnn/h5dnn/capi/dlpack"
	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/storage"
)

// An owner counts the users of an imported tensor's memory, and deletes the tensor
// after the last one. A nil owner stands for Go memory.
type owner struct {
	mu      sync.Mutex
	users   int
	release func() error
}

func (l *owner) enter() {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.users++
	}
}

func (l *owner) leave() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.users > 0 {
		return nil
	}
	return l.release()
}

//export h5dnn_export
func h5dnn_export(h C.h5dnn_array, stream C.uint64_t, out **C.DLManagedTensorVersioned) C.h5dnn_status {
	return export(h, stream, out, dlpack.Export)
}

//export h5dnn_export_unversioned
func h5dnn_export_unversioned(h C.h5dnn_array, stream C.uint64_t, out **C.DLManagedTensor) C.h5dnn_status {
	return export(h, stream, out, dlpack.ExportUnversioned)
}

// export exports as struct T.
func export[T any](h C.h5dnn_array, stream C.uint64_t, out **T, as func(dlpack.Tensor, func()) (unsafe.Pointer, error)) C.h5dnn_status {
	return call(func() error {
		a, err := held[*array](h)
		if err != nil {
			return err
		}
		if out == nil {
			return errNull
		}
		if d, ok := a.Data.Device().(*cuda.Device); ok && stream != 0 {
			if err := d.ExternalStreamWait(uintptr(stream)); err != nil {
				return err
			}
		}
		tensor, err := as(a.Tensor, func() { a.owner.leave() })
		if err != nil {
			return err
		}
		a.owner.enter()
		*out = (*T)(tensor)
		return nil
	})
}

//export h5dnn_import
func h5dnn_import(tensor *C.DLManagedTensorVersioned, out *C.h5dnn_array) C.h5dnn_status {
	gpu := tensor != nil && onGPU(&tensor.dl_tensor)
	return take(unsafe.Pointer(tensor), gpu, out, dlpack.Import)
}

//export h5dnn_import_unversioned
func h5dnn_import_unversioned(tensor *C.DLManagedTensor, out *C.h5dnn_array) C.h5dnn_status {
	gpu := tensor != nil && onGPU(&tensor.dl_tensor)
	return take(unsafe.Pointer(tensor), gpu, out, dlpack.ImportUnversioned)
}

func take(tensor unsafe.Pointer, gpu bool, out *C.h5dnn_array, from func(unsafe.Pointer) (dlpack.Tensor, func() error, error)) C.h5dnn_status {
	return callOn(gpu, func() error {
		t, release, err := from(tensor)
		if err != nil {
			return err
		}
		return hold(out, &array{Tensor: t, owner: &owner{users: 1, release: release}})
	})
}

//export h5dnn_stream
func h5dnn_stream(where *C.text, out *C.uint64_t) C.h5dnn_status {
	name := C.GoString(where)
	return callOn(isGPU(name), func() error {
		d, err := storage.DeviceNamed(name)
		if err != nil {
			return err
		}
		if gpu, ok := d.(*cuda.Device); ok {
			return put(out, C.uint64_t(gpu.Stream().Handle()))
		}
		return put(out, 0)
	})
}
