package cuda

// #include "vendor.h"
import "C"

import (
	"fmt"
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

// handle returns the device's handle of a library, or 0 if the library is missing or
// turned off. The lock is held.
func (v *vendor) handle(d *Device, index int) (C.h5_object, error) {
	l := libraries[index]
	if v.off || l.find().Missing != nil {
		return 0, nil
	}
	if v.handles[index] == 0 {
		if err := v.start(d, index, l.find()); err != nil {
			return 0, err
		}
	}
	return v.handles[index], nil
}

// start creates a handle, and the workspace that all handles share.
func (v *vendor) start(d *Device, index int, l Library) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%v: %s %s of %s: %w; H5DNN_CUDA_LIBS=off does without", d, l.Name, l.Version, l.Path, err)
		}
	}()
	if v.workspace == nil {
		if v.workspace, err = d.Alloc(workspaceBytes); err != nil {
			return err
		}
	}
	handle := &v.handles[index]
	if index == cudnn {
		if err := openSublibraries(l.Path); err != nil {
			return err
		}
		return status("start", C.h5_cudnn_create(d.context, handle), dnnText)
	}
	return status("start", C.h5_cublas_create(d.context, handle), ltText)
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

// checkLibrary is status for an act of d.
func (d *Device) checkLibrary(act string, code C.h5_status, text func(C.h5_status) *C.char) error {
	if err := status(act, code, text); err != nil {
		return fmt.Errorf("%v: %w", d, err)
	}
	return nil
}

func ltText(code C.h5_status) *C.char  { return C.h5_cublas_text(code) }
func dnnText(code C.h5_status) *C.char { return C.h5_cudnn_text(code) }

// alignment returns the largest power of two, up to 256, that divides an address.
func alignment(at C.h5_address) C.h5_address { return (at | 256) & -(at | 256) }
