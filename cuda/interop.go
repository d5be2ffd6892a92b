package cuda

// #include "calls.h"
import "C"

import (
	"errors"
	"runtime"

	"github.com/h5dnn/h5dnn/storage"
)

// PreserveContext runs f and restores the CUDA context that was current on the calling
// thread. Use it where another library, such as PyTorch, owns the thread. Without a
// driver it only runs f.
func PreserveContext(f func()) error {
	if _, err := Find(); err != nil {
		f()
		return nil
	}
	var theirs C.h5_handle
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := check("ask whose context is current", C.h5_save_context(&theirs)); err != nil {
		return err
	}
	f()
	return check("leave the context as it was", C.h5_restore_context(theirs))
}

// Index returns the driver's ordinal of the device.
func (d *Device) Index() int { return d.index }

// UnownedMemory returns a storage of size bytes of d's memory at address, allocated by
// another library, which must not free them before all work that uses them is done.
func (d *Device) UnownedMemory(address uint64, size int) storage.Storage {
	return &memory{address: address, size: size, device: d}
}

// Handle returns the CUstream, for other libraries.
func (s *Stream) Handle() uintptr { return uintptr(s.handle) }

// ExternalStreamWait makes a CUstream of another library wait for all work issued to d
// so far. 1 and 2 are the driver's legacy and per-thread default streams.
func (d *Device) ExternalStreamWait(stream uintptr) error {
	e, err := d.NewEvent()
	if err != nil {
		return err
	}
	theirs := &Stream{device: d, handle: C.h5_handle(stream)}
	return errors.Join(e.Record(d.stream), theirs.WaitEvent(e), e.Close())
}

// SyncContext waits for all work on d, including the work of other libraries.
func (d *Device) SyncContext() error {
	return d.check("wait for all streams", C.h5_context_sync(d.context))
}
