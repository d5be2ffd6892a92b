package cuda

// #include "calls.h"
import "C"

import (
	"errors"
	"runtime"

	"github.com/h5dnn/h5dnn/storage"
)

// Guest opens the driver, if there is one, and runs f where the thread belongs to
// another program, such as PyTorch's, that may have its own context current there:
// f finds none of ours, and the thread is left as it was.
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

// Index returns the device's number among those of the driver.
func (d *Device) Index() int { return d.index }

// Borrow returns size bytes of d's memory that another library allocated, at
// address. Whoever lends them keeps them until no work uses them any more.
func (d *Device) UnownedMemory(address uint64, size int) storage.Storage {
	return &memory{address: address, size: size, device: d}
}

// Handle returns the stream's CUstream, for another library to order its work by.
func (s *Stream) Handle() uintptr { return uintptr(s.handle) }

// Handover makes a CUstream of another library wait for all that was issued to d
// so far. 1 and 2 are the driver's own: the legacy default stream, and that of
// the thread.
func (d *Device) ExternalStreamWait(stream uintptr) error {
	e, err := d.NewEvent()
	if err != nil {
		return err
	}
	theirs := &Stream{device: d, handle: C.h5_handle(stream)}
	return errors.Join(e.Record(d.stream), theirs.WaitEvent(e), e.Close())
}

// Settle waits for all work on d, that of other libraries included.
func (d *Device) SyncContext() error {
	return d.check("wait for all streams", C.h5_context_sync(d.context))
}
