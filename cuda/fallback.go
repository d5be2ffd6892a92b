package cuda

// #include <stdlib.h>
// #include "calls.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// fallbacks are sentences about what a device does without.
type fallbacks struct {
	mu  sync.Mutex
	all []string
}

// Fallbacks says, in a sentence each, which features of the driver and which of NVIDIA's
// libraries d does without, what it does instead, and why. Libraries are tried when they
// are first needed, or by StartLibraries.
func (d *Device) Fallbacks() []string {
	d.fallbacks.mu.Lock()
	defer d.fallbacks.mu.Unlock()
	return slices.Clone(d.fallbacks.all)
}

// fallBack records what d does instead of something, and why; once if it is repeated.
func (d *Device) fallBack(instead string, why error) {
	d.fallbacks.mu.Lock()
	defer d.fallbacks.mu.Unlock()
	if text := fmt.Sprintf("%s: %v", instead, why); !slices.Contains(d.fallbacks.all, text) {
		d.fallbacks.all = append(d.fallbacks.all, text)
	}
}

// tryFeatures finds out which optional features of the driver work. Drivers of virtual
// GPUs refuse some of them.
func (d *Device) tryFeatures() {
	if err := d.tryPool(); err != nil {
		d.pool = 0
		d.fallBack("arrays are allocated and freed one by one, which waits for the GPU, because memory pools are refused", err)
	}
	if err := d.tryDependencies(); err != nil {
		d.straightLine = true
		d.fallBack("the kernels of a graph run one after another, because its dependencies cannot be edited", err)
	}
}

// tryPool creates d's memory pool and allocates from it.
func (d *Device) tryPool() error {
	if err := driverHas("cuMemPoolCreate", "cuMemPoolSetAttribute", "cuMemPoolSetAccess", "cuMemPoolTrimTo", "cuMemAllocFromPoolAsync", "cuMemFreeAsync"); err != nil {
		return err
	}
	var supported C.int
	if err := check("query whether there are memory pools", C.h5_attribute(&supported, C.H5_POOLS_SUPPORTED, d.handle)); err != nil {
		return err
	}
	if supported == 0 {
		return errors.New("the device does not support them")
	}
	if err := check("create a memory pool", C.h5_pool(d.context, &d.pool, d.handle)); err != nil {
		return err
	}
	var at C.h5_address
	if err := check("allocate from a memory pool", C.h5_alloc(d.context, &at, 1, d.pool, d.stream.handle)); err != nil {
		return err
	}
	return check("free to a memory pool", C.h5_free(d.context, at, d.stream.handle))
}

// tryDependencies captures an empty graph and edits its dependencies.
func (d *Device) tryDependencies() error {
	if err := driverHas("cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuStreamGetCaptureInfo_v2", "cuStreamUpdateCaptureDependencies", "cuGraphInstantiateWithFlags", "cuGraphDestroy", "cuGraphLaunch", "cuGraphExecDestroy"); err != nil {
		return err
	}
	if err := check("begin a capture", C.h5_capture_begin(d.context, d.stream.handle)); err != nil {
		return err
	}
	o := dependencies{stream: d.stream}
	_, err := o.captured()
	if err == nil {
		err = o.setDependencies(nil, C.H5_CAPTURE_SET)
	}
	var graph C.h5_handle
	if end := check("end a capture", C.h5_capture_end(d.context, d.stream.handle, &graph)); end == nil {
		C.h5_graph_destroy(d.context, graph)
	} else if err == nil {
		err = end
	}
	return err
}

// driverHas returns an error that names the optional functions that the driver lacks.
func driverHas(names ...string) error {
	lacks := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		s := C.CString(name)
		defer C.free(unsafe.Pointer(s))
		return C.h5_has(s) != 0
	})
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("the driver has no %s", lacks[0])
}
