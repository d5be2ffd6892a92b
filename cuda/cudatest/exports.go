package cudatest

// #include <stdlib.h>
// #include "table.h"
import "C"

import "unsafe"

// A code is a result code of cuda.h.
type code = C.h5_result

const (
	success        code = C.H5_SUCCESS
	invalidValue   code = C.H5_INVALID_VALUE
	outOfMemory    code = C.H5_OUT_OF_MEMORY
	invalidContext code = C.H5_INVALID_CONTEXT
	invalidImage   code = C.H5_INVALID_IMAGE
	invalidPTX     code = C.H5_INVALID_PTX
	invalidHandle  code = C.H5_INVALID_HANDLE
	notFound       code = C.H5_NOT_FOUND
	notReady       code = C.H5_NOT_READY
	launchFailed   code = C.H5_LAUNCH_FAILED
	notSupported   code = C.H5_NOT_SUPPORTED

	captureUnsupported code = C.H5_CAPTURE_UNSUPPORTED
	captureInvalidated code = C.H5_CAPTURE_INVALIDATED
	captureUnjoined    code = C.H5_CAPTURE_UNJOINED
	captureIsolation   code = C.H5_CAPTURE_ISOLATION
	capturedEvent      code = C.H5_CAPTURED_EVENT
)

var names = map[code][2]string{
	success:        {"CUDA_SUCCESS", "no error"},
	invalidValue:   {"CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	outOfMemory:    {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	invalidContext: {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	notSupported:   {"CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	invalidImage:   {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
	invalidPTX:     {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
	invalidHandle:  {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	notFound:       {"CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	notReady:       {"CUDA_ERROR_NOT_READY", "device not ready"},
	launchFailed:   {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},

	captureUnsupported: {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
	captureInvalidated: {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
	captureUnjoined:    {"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
	captureIsolation:   {"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
	capturedEvent:      {"CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
}

// text caches C strings, which callers do not free.
var text = map[string]*C.char{}

func keep(s string) *C.char {
	if text[s] == nil {
		text[s] = C.CString(s)
	}
	return text[s]
}

// in runs f on the gpu whose context is current, with the driver locked.
func in(f func(g *gpu) code) code {
	context := C.h5_current()
	fake.mu.Lock()
	defer fake.mu.Unlock()
	if context < 1 || int(context) > len(fake.gpus) {
		return invalidContext
	}
	g := fake.gpus[context-1]
	if g.failure != nil {
		return launchFailed
	}
	if c := f(g); c != success {
		return c
	}
	if g.failure != nil {
		return launchFailed
	}
	return success
}

// on is in with a stream, which must be the gpu's.
func on(handle C.h5_handle, f func(g *gpu, s *stream) code) code {
	return in(func(g *gpu) code {
		s, c := lookup[*stream](fake, uintptr(handle))
		if c != success {
			return c
		}
		if s.gpu != g {
			return invalidHandle
		}
		return f(g, s)
	})
}

//export fake_cuInit
func fake_cuInit(flags C.uint) code {
	if flags != 0 {
		return invalidValue
	}
	return success
}

//export fake_cuDriverGetVersion
func fake_cuDriverGetVersion(version *C.int) code {
	*version = 12040
	return success
}

//export fake_cuGetErrorName
func fake_cuGetErrorName(c code, name **C.char) code {
	fake.mu.Lock()
	defer fake.mu.Unlock()
	*name = keep(names[c][0])
	return success
}

//export fake_cuGetErrorString
func fake_cuGetErrorString(c code, s **C.char) code {
	fake.mu.Lock()
	defer fake.mu.Unlock()
	*s = keep(names[c][1])
	for _, g := range fake.gpus {
		if c == launchFailed && g.failure != nil {
			*s = keep(g.failure.Error())
		}
	}
	return success
}

//export fake_cuDeviceGetCount
func fake_cuDeviceGetCount(count *C.int) code {
	*count = C.int(environmentNumber("gpus", len(fake.gpus)))
	return success
}

//export fake_cuDeviceGet
func fake_cuDeviceGet(device *C.h5_device, ordinal C.int) code {
	if int(ordinal) >= len(fake.gpus) {
		return invalidValue
	}
	*device = C.h5_device(ordinal)
	return success
}

//export fake_cuDeviceGetName
func fake_cuDeviceGetName(name *C.char, size C.int, _ C.h5_device) code {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(name)), size), "interpreter\x00")
	return success
}

//export fake_cuDeviceTotalMem_v2
func fake_cuDeviceTotalMem_v2(bytes *C.size_t, device C.h5_device) code {
	*bytes = C.size_t(fake.gpus[device].capacity)
	return success
}

// fake_cuDeviceGetAttribute: the first gpu takes the code for sm_80, the second that for sm_75.
//
//export fake_cuDeviceGetAttribute
func fake_cuDeviceGetAttribute(value *C.int, attribute C.int, device C.h5_device) code {
	known := map[C.int][2]C.int{C.H5_MULTIPROCESSORS: {2, 2}, C.H5_MAJOR: {8, 7}, C.H5_MINOR: {0, 5}, C.H5_POOLS_SUPPORTED: {1, 1}}
	if c := environmentNumber("capability", 0); c > 0 {
		known[C.H5_MAJOR], known[C.H5_MINOR] = [2]C.int{C.int(c / 10), C.int(c / 10)}, [2]C.int{C.int(c % 10), C.int(c % 10)}
	}
	values, ok := known[attribute]
	if !ok {
		return invalidValue
	}
	*value = values[device]
	return success
}

//export fake_cuDeviceCanAccessPeer
func fake_cuDeviceCanAccessPeer(can *C.int, device, peer C.h5_device) code {
	fake.mu.Lock()
	defer fake.mu.Unlock()
	*can = 1
	if fake.noPeerAccess || device == peer {
		*can = 0
	}
	return success
}

//export fake_cuDevicePrimaryCtxRetain
func fake_cuDevicePrimaryCtxRetain(context *C.h5_handle, device C.h5_device) code {
	*context = C.h5_handle(device + 1)
	return success
}

//export fake_cuCtxSetCurrent
func fake_cuCtxSetCurrent(context C.h5_handle) code {
	C.h5_set_current(context)
	return success
}

//export fake_cuCtxGetCurrent
func fake_cuCtxGetCurrent(context *C.h5_handle) code {
	*context = C.h5_current()
	return success
}

//export fake_cuCtxSynchronize
func fake_cuCtxSynchronize() code {
	return in(func(g *gpu) code {
		if g.capturing() {
			return g.invalidateCaptures()
		}
		for _, s := range g.streams {
			fake.await(s.end())
		}
		return success
	})
}
