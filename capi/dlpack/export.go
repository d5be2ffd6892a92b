package dlpack

// #include "tensor.h"
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"unsafe"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// version is the DLPack version of exported tensors.
var version = C.DLPackVersion{major: 1, minor: 2}

// Export returns a DLManagedTensorVersioned that shares t's memory. The memory is kept
// until its deleter is called, which then calls deleted, unless that is nil. On a GPU
// the deleter waits for all work on the device, including the consumer's. The consumer
// waits for earlier work; see [cuda.Device.ExternalStreamWait].
func Export(t Tensor, deleted func()) (unsafe.Pointer, error) {
	owner, err := own(t.Array, deleted)
	if err != nil {
		return nil, err
	}
	m := C.dlpack_new(C.int32_t(t.Rank()), C.uintptr_t(owner.handle))
	if m == nil {
		return nil, owner.refuse()
	}
	m.version = version
	if t.ReadOnly {
		m.flags = C.DLPACK_FLAG_BITMASK_READ_ONLY
	}
	Describe(unsafe.Pointer(&m.dl_tensor), t.Array)
	return unsafe.Pointer(m), nil
}

// ExportUnversioned is Export as a DLManagedTensor, the struct of DLPack before 1.0,
// which has no read-only flag.
func ExportUnversioned(t Tensor, deleted func()) (unsafe.Pointer, error) {
	if t.ReadOnly {
		return nil, fmt.Errorf("export %v: it is read-only, which DLPack before 1.0 cannot say; export it versioned: %w", t.Array, storage.ErrState)
	}
	owner, err := own(t.Array, deleted)
	if err != nil {
		return nil, err
	}
	m := C.dlpack_new_unversioned(C.int32_t(t.Rank()), C.uintptr_t(owner.handle))
	if m == nil {
		return nil, owner.refuse()
	}
	Describe(unsafe.Pointer(&m.dl_tensor), t.Array)
	return unsafe.Pointer(m), nil
}

// An owner keeps and pins the memory of an exported tensor.
type owner struct {
	data    storage.Storage
	pinner  runtime.Pinner
	deleted func()
	handle  cgo.Handle
}

// own checks that t can be exported and keeps its memory.
func own(t storage.Array, deleted func()) (*owner, error) {
	if _, known := codes[t.Type]; !known || t.Data == nil {
		return nil, fmt.Errorf("export %v: it is no array: %w", t, storage.ErrState)
	}
	if !t.Within(t.Data.Len() / t.Type.Size()) {
		return nil, fmt.Errorf("export %v: its view reaches outside %d bytes: %w", t, t.Data.Len(), views.ErrShape)
	}
	device, at := place(t)
	if device.device_type == 0 {
		return nil, fmt.Errorf("export %v: it is not in memory; move it to cpu or a GPU first: %w", t, storage.ErrDevice)
	}
	o := &owner{data: t.Data, deleted: deleted}
	if device.device_type == C.kDLCPU && at != nil {
		o.pinner.Pin((*byte)(at))
	}
	o.handle = cgo.NewHandle(o)
	return o, nil
}

// refuse releases the owner of a tensor that was not exported.
func (o *owner) refuse() error {
	o.deleted = nil
	o.letGo()
	return fmt.Errorf("export: no memory for the tensor's struct: %w", storage.ErrState)
}

// dlpack_deleted releases the memory of an exported tensor. It ignores errors of the
// GPU, which are permanent and returned by every later call.
//
//export dlpack_deleted
func dlpack_deleted(handle C.uintptr_t) {
	o := cgo.Handle(handle).Value().(*owner)
	d, ok := o.data.Device().(*cuda.Device)
	if !ok {
		o.letGo()
		return
	}
	cuda.PreserveContext(func() {
		d.SyncContext()
		o.letGo()
	})
}

func (o *owner) letGo() {
	o.pinner.Unpin()
	o.handle.Delete()
	if o.deleted != nil {
		o.deleted()
	}
}
