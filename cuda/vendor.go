package cuda

// #include "vendor.h"
import "C"

import (
	"fmt"
	"strings"
	"sync"

	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
)

// vendor is one device's use of NVIDIA's libraries. An algorithm is chosen once for each
// problem and cached, so that results do not change from call to call.
type vendor struct {
	mu        sync.Mutex
	off       bool
	tf32      bool
	workspace storage.Storage
	handles   [2]C.h5_object       // of cuBLASLt and cuDNN, 0 until they are needed
	failed    [2]bool              // whether they did not start
	dnnState  *memory              // stands for what the handle of cuDNN holds, which a call writes
	choices   map[any]*C.h5_choice // by problem, a C.h5_gemm or C.h5_convolution
}

var (
	_ launch.Multiplier = (*Device)(nil)
	_ launch.Convolver  = (*Device)(nil)
	_ launch.Rounder    = (*Device)(nil)
)

// workspaceBytes is what NVIDIA advises for its fastest GPUs. It is allocated in advance,
// because captured work must not allocate.
const workspaceBytes = 32 << 20

// UseLibraries sets whether d computes matrix products and convolutions by NVIDIA's
// libraries, where they are found. The default is true.
func (d *Device) UseLibraries(use bool) {
	d.vendor.mu.Lock()
	defer d.vendor.mu.Unlock()
	d.vendor.off = !use
}

// AllowTF32 sets whether the factors of float32 products may be rounded to 10 bits of
// mantissa, which is several times faster, by those libraries and by own kernels on GPUs
// of compute capability 8.0 and above. The default is false.
func (d *Device) AllowTF32(allow bool) {
	d.vendor.mu.Lock()
	defer d.vendor.mu.Unlock()
	d.vendor.tf32 = allow
}

// RoundsToTF32 reports what AllowTF32 has set.
func (d *Device) RoundsToTF32() bool {
	d.vendor.mu.Lock()
	defer d.vendor.mu.Unlock()
	return d.vendor.tf32
}

// handle returns the device's handle of a library, or 0 if it is missing, turned off or
// did not start. The lock is held.
func (v *vendor) handle(d *Device, index int) (C.h5_object, error) {
	if v.off || v.failed[index] {
		return 0, nil
	}
	l := libraries[index].find()
	if l.Missing != nil {
		if !l.absent() { // it is there, but cannot be used
			v.fail(d, index, l.Missing)
		}
		return 0, nil
	}
	if v.handles[index] != 0 {
		return v.handles[index], nil
	}
	if v.workspace == nil {
		workspace, err := d.Alloc(workspaceBytes)
		if err != nil {
			return 0, fmt.Errorf("%v: workspace of %s: %w", d, l.Name, err)
		}
		v.workspace = workspace
	}
	if err := v.start(d, index, l); err != nil {
		v.fail(d, index, err)
		return 0, nil
	}
	return v.handles[index], nil
}

// start creates a handle.
func (v *vendor) start(d *Device, index int, l Library) error {
	handle := &v.handles[index]
	if index == cublasLt {
		return status("start", C.h5_cublas_create(d.context, handle), ltText)
	}
	if l.Path != overridePath {
		if err := openSublibraries(l.Path); err != nil {
			return err
		}
	}
	if err := status("start", C.h5_cudnn_create(d.context, handle), dnnText); err != nil {
		return err
	}
	v.dnnState = &memory{address: uint64(*handle), size: 1, device: d} // which is no address of device memory
	return nil
}

// fail makes d compute without a library from now on.
func (v *vendor) fail(d *Device, index int, why error) {
	l := libraries[index].find()
	v.failed[index], v.handles[index] = true, 0
	d.fallBack(fmt.Sprintf("%s are computed by own kernels, because %s cannot be used", l.Use, strings.TrimSpace(l.Name+" "+l.Version)), fmt.Errorf("%s: %w", l.Path, why))
}

// decline leaves a problem to own kernels from now on, because a library failed to compute it.
func (d *Device) decline(choice *C.h5_choice, index int, why error) {
	refuse(choice, why.Error())
	l := libraries[index].find()
	d.fallBack(fmt.Sprintf("some %s are computed by own kernels, because %s %s failed", l.Use, l.Name, l.Version), why)
}

// refuse leaves a problem to own kernels, because of what a library says of its algorithm.
func refuse(choice *C.h5_choice, why string) {
	choice.state = C.H5_NONE
	for i := range choice.about {
		choice.about[i] = 0
		if i < min(len(why), len(choice.about)-1) {
			choice.about[i] = C.char(why[i])
		}
	}
}

// StartLibraries starts the libraries that d would start when it first needs them, so that
// Fallbacks names those that do not start.
func (d *Device) StartLibraries() error {
	if err := d.ready(); err != nil {
		return err
	}
	d.vendor.mu.Lock()
	defer d.vendor.mu.Unlock()
	for index := range d.vendor.handles {
		if _, err := d.vendor.handle(d, index); err != nil {
			return err
		}
	}
	return nil
}

// choice returns the cached choice of an algorithm for a problem.
func (v *vendor) choice(problem any) *C.h5_choice {
	if v.choices == nil {
		v.choices = map[any]*C.h5_choice{}
	}
	if v.choices[problem] == nil {
		v.choices[problem] = new(C.h5_choice)
	}
	return v.choices[problem]
}

// workspaceFor returns the workspace if the algorithm needs it or is still to be chosen.
// Work that shares the workspace is serialized.
func (d *Device) workspaceFor(choice *C.h5_choice) (workspace C.h5_address, bytes C.size_t) {
	if choice.state == C.H5_CHOSEN && choice.needs == 0 {
		return 0, 0
	}
	return C.h5_address(d.Address(d.vendor.workspace)), workspaceBytes
}

// status returns a library's status code as an error, or nil.
func status(act string, code C.h5_status, text func(C.h5_status) *C.char) error {
	switch code {
	case 0:
		return nil
	case C.H5_NO_CONTEXT:
		return fmt.Errorf("%s: the device's context cannot be made current", act)
	}
	return fmt.Errorf("%s: %s (%d)", act, C.GoString(text(code)), code)
}

func ltText(code C.h5_status) *C.char  { return C.h5_cublas_text(code) }
func dnnText(code C.h5_status) *C.char { return C.h5_cudnn_text(code) }

// alignment returns the largest power of two, up to 256, that divides an address.
func alignment(at C.h5_address) C.h5_address { return (at | 256) & -(at | 256) }
