package cuda

// #include "calls.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// kernelFaults is device memory where kernels report errors, which they cannot return.
type kernelFaults struct{ where storage.Storage }

const faultBytes = int(unsafe.Sizeof(kernels.Fault{}))

// start allocates the memory on d.
func (f *kernelFaults) start(d *Device) error {
	m := &memory{size: faultBytes, device: d}
	var err error
	if m.address, err = d.alloc(m.size); err != nil {
		return err
	}
	f.where = m
	return f.reset(d)
}

func (f *kernelFaults) reset(d *Device) error {
	none := kernels.NoFault
	return d.Upload(f.where, 0, unsafe.Slice((*byte)(unsafe.Pointer(&none)), faultBytes))
}

// err returns the error that a kernel has reported since the last call. All issued
// work has completed.
func (f *kernelFaults) err(d *Device) error {
	var found kernels.Fault
	code := C.h5_download(d.context, unsafe.Pointer(&found), C.h5_address(d.FaultAddress()), C.size_t(faultBytes), d.stream.handle)
	if err := d.check("read kernel faults", code); err != nil {
		return err
	}
	if err := d.stream.Sync(); err != nil {
		return err
	}
	err := found.Err()
	if err == nil {
		return nil
	}
	if again := f.reset(d); again != nil {
		return again
	}
	return fmt.Errorf("%v: %w", d, err)
}

// FaultAddress returns the address of the [kernels.Fault] that kernels may set.
func (d *Device) FaultAddress() uint64 { return d.Address(d.fault.where) }
