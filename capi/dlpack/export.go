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

// version is DLPack's that exported tensors follow.
var version = C.DLPackVersion{major: 1, minor: 2}

// Export returns a DLManagedTensorVersioned of t's memory, and calls deleted, if
// that is not nil, once its deleter was called: the memory is kept until then.
// On a GPU the deleter waits for all work there, the consumer's included; who
// consumes waits for what was issued before, as [cuda.Device.Handover] makes it.
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

// ExportUnversioned is Export in the struct of DLPack before 1.0, a
// DLManagedTensor, which cannot say that memory is read-only.
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

// An owner keeps the memory of an exported tensor where it is.
type owner struct {
	data    storage.Storage
	pinner  runtime.Pinner
	deleted func()
	handle  cgo.Handle
}

// own checks that t can be exported, and keeps its memory.
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

// refuse gives up an owner of nothing.
func (o *owner) refuse() error {
	o.deleted = nil
	o.letGo()
	return fmt.Errorf("export: no memory for the tensor's struct: %w", storage.ErrState)
}

// dlpack_deleted lets go of an exported tensor's memory. A GPU that fails to
// settle has failed for good, and told everyone who waits for it.
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
