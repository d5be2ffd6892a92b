package dlpack

// #include "tensor.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/storage"
)

// place returns the address of t's first element and its device, which has type 0 if t
// is not in memory.
func place(t storage.Array) (C.DLDevice, unsafe.Pointer) {
	at := t.Offset * t.Type.Size()
	switch d := t.Data.Device().(type) {
	case *cuda.Device:
		device := C.DLDevice{device_type: C.kDLCUDA, device_id: C.int32_t(d.Index())}
		if t.Len() == 0 {
			return device, nil
		}
		return device, pointer(uintptr(d.Address(t.Data)) + uintptr(at))
	default:
		host, ok := t.Data.(storage.Host)
		if !ok {
			return C.DLDevice{}, nil
		}
		if t.Len() == 0 {
			return C.DLDevice{device_type: C.kDLCPU}, nil
		}
		return C.DLDevice{device_type: C.kDLCPU}, unsafe.Pointer(&host.Bytes()[at])
	}
}

// pointer returns a device address as a C pointer, which Go never dereferences.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// lent returns size bytes of memory of another library as a storage.
func lent(d C.DLDevice, at unsafe.Pointer, size int) (storage.Storage, error) {
	switch d.device_type {
	case C.kDLCPU, C.kDLCUDAHost:
		return storage.Wrap(unsafe.Slice((*byte)(at), size)), nil
	case C.kDLCUDA:
		device, err := cuda.Open(fmt.Sprintf("cuda:%d", d.device_id))
		if err != nil {
			return nil, err
		}
		return device.UnownedMemory(uint64(uintptr(at)), size), nil
	}
	return nil, fmt.Errorf("DLPack device of type %d: h5dnn knows cpu (1), cuda (2) and pinned memory (3): %w", d.device_type, storage.ErrDevice)
}
