package cudatest

// #include <stdlib.h>
// #include "table.h"
import "C"

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/h5dnn/h5dnn/cuda/ptx"
)

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

// The first gpu takes the code for sm_80, the second that for sm_75.
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

//export fake_cuMemGetInfo_v2
func fake_cuMemGetInfo_v2(free, total *C.size_t) code {
	return in(func(g *gpu) code {
		*free, *total = C.size_t(g.capacity-g.reserved), C.size_t(g.capacity)
		return success
	})
}

//export fake_cuMemPoolCreate
func fake_cuMemPoolCreate(handle *C.h5_handle, props *C.h5_pool_props) code {
	return in(func(g *gpu) code {
		if props.allocation != C.H5_POOL_PINNED || props.location != C.H5_POOL_LOCATION_DEVICE || int(props.device) != g.index {
			return invalidValue
		}
		*handle = C.h5_handle(fake.add(&pool{gpu: g}))
		return success
	})
}

//export fake_cuMemPoolSetAttribute
func fake_cuMemPoolSetAttribute(handle C.h5_handle, attribute C.int, _ unsafe.Pointer) code {
	return in(func(*gpu) code {
		if attribute != C.H5_POOL_RELEASE_THRESHOLD {
			return invalidValue
		}
		_, c := lookup[*pool](fake, uintptr(handle))
		return c
	})
}

//export fake_cuMemPoolSetAccess
func fake_cuMemPoolSetAccess(handle C.h5_handle, access *C.h5_pool_access, count C.size_t) code {
	return in(func(g *gpu) code {
		p, c := lookup[*pool](fake, uintptr(handle))
		if c != success {
			return c
		}
		if count != 1 || access.location != C.H5_POOL_LOCATION_DEVICE || access.access != C.H5_POOL_READWRITE || fake.noPeerAccess {
			return invalidValue
		}
		p.peer = fake.gpus[access.device]
		return success
	})
}

//export fake_cuMemPoolTrimTo
func fake_cuMemPoolTrimTo(handle C.h5_handle, keep C.size_t) code {
	return in(func(g *gpu) code {
		_, c := lookup[*pool](fake, uintptr(handle))
		if c == success {
			g.reserved = min(g.reserved, max(g.used, int(keep)))
		}
		return c
	})
}

// Memory from a pool belongs to its previous owner until the stream reaches the
// allocation: what other streams write before that is lost.
//
//export fake_cuMemAllocFromPoolAsync
func fake_cuMemAllocFromPoolAsync(at *C.h5_address, bytes C.size_t, from, handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code {
		p, c := lookup[*pool](fake, uintptr(from))
		switch {
		case c != success:
			return c
		case g.capturing():
			return g.invalidateCaptures()
		case p.gpu != g || bytes == 0:
			return invalidValue
		case int(bytes) > g.capacity-g.used:
			return outOfMemory
		}
		address := g.memory.Alloc(int(bytes))
		g.used += int(bytes)
		g.reserved = max(g.reserved, g.used)
		g.blocks[address] = allocation{int(bytes), p}
		*at = C.h5_address(address)
		if fake.schedule == Eager {
			return success
		}
		return fake.issue(s, position{}, func() error { return g.memory.Poison(address) })
	})
}

//export fake_cuMemFreeAsync
func fake_cuMemFreeAsync(at C.h5_address, handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code {
		block, ok := g.blocks[uint64(at)]
		switch {
		case !ok || block.pool == nil:
			return invalidValue
		case g.capturing():
			return g.invalidateCaptures()
		}
		delete(g.blocks, uint64(at))
		g.used -= block.size
		return fake.issue(s, position{}, func() error { return g.memory.Free(uint64(at)) })
	})
}

// Memory that belongs to no pool is there at once.
//
//export fake_cuMemAlloc_v2
func fake_cuMemAlloc_v2(at *C.h5_address, bytes C.size_t) code {
	return in(func(g *gpu) code {
		switch {
		case g.capturing():
			return g.invalidateCaptures()
		case bytes == 0:
			return invalidValue
		case int(bytes) > g.capacity-g.used:
			return outOfMemory
		}
		address := g.memory.Alloc(int(bytes))
		g.used += int(bytes)
		g.reserved = max(g.reserved, g.used)
		g.blocks[address] = allocation{size: int(bytes)}
		*at = C.h5_address(address)
		return success
	})
}

// Memory that belongs to no pool is gone at once, whether or not queued work uses it.
//
//export fake_cuMemFree_v2
func fake_cuMemFree_v2(at C.h5_address) code {
	return in(func(g *gpu) code {
		block, ok := g.blocks[uint64(at)]
		switch {
		case !ok || block.pool != nil:
			return invalidValue
		case g.capturing():
			return g.invalidateCaptures()
		}
		delete(g.blocks, uint64(at))
		g.used -= block.size
		g.reserved -= block.size
		g.fail(g.memory.Free(uint64(at)))
		return success
	})
}

//export fake_cuMemHostAlloc
func fake_cuMemHostAlloc(at *unsafe.Pointer, bytes C.size_t, _ C.uint) code {
	return in(func(*gpu) code {
		*at = C.malloc(bytes)
		fake.pinned[uintptr(*at)] = int(bytes)
		return success
	})
}

//export fake_cuMemFreeHost
func fake_cuMemFreeHost(at unsafe.Pointer) code {
	return in(func(*gpu) code {
		if _, ok := fake.pinned[uintptr(at)]; !ok {
			return invalidValue
		}
		fake.waitAll()
		delete(fake.pinned, uintptr(at))
		C.free(at)
		return success
	})
}

// Pinned memory is read when the copy is done; other memory now, into a buffer.
//
//export fake_cuMemcpyHtoDAsync_v2
func fake_cuMemcpyHtoDAsync_v2(to C.h5_address, from unsafe.Pointer, bytes C.size_t, handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code {
		if _, err := g.memory.Bytes(uint64(to), int(bytes)); err != nil {
			return invalidValue
		}
		src := unsafe.Slice((*byte)(from), bytes)
		if !fake.isPinned(uintptr(from), int(bytes)) {
			if s.capture != nil {
				return g.invalidateCaptures()
			}
			src = slices.Clone(src)
		}
		return fake.issue(s, position{}, func() error {
			dst, err := g.memory.Bytes(uint64(to), int(bytes))
			copy(dst, src)
			return err
		})
	})
}

// Pinned memory is written when the copy is done; other memory before the call returns.
//
//export fake_cuMemcpyDtoHAsync_v2
func fake_cuMemcpyDtoHAsync_v2(to unsafe.Pointer, from C.h5_address, bytes C.size_t, handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code {
		if _, err := g.memory.Bytes(uint64(from), int(bytes)); err != nil {
			return invalidValue
		}
		pinned := fake.isPinned(uintptr(to), int(bytes))
		if !pinned && s.capture != nil {
			return g.invalidateCaptures()
		}
		c := fake.issue(s, position{}, func() error {
			src, err := g.memory.Bytes(uint64(from), int(bytes))
			copy(unsafe.Slice((*byte)(to), bytes), src)
			return err
		})
		if !pinned && c == success {
			fake.await(s.end())
		}
		return c
	})
}

//export fake_cuMemcpyDtoDAsync_v2
func fake_cuMemcpyDtoDAsync_v2(to, from C.h5_address, bytes C.size_t, handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code { return fake.move(s, g, uint64(to), g, uint64(from), int(bytes)) })
}

//export fake_cuMemcpyPeerAsync
func fake_cuMemcpyPeerAsync(to C.h5_address, there C.h5_handle, from C.h5_address, here C.h5_handle, bytes C.size_t, handle C.h5_handle) code {
	return on(handle, func(_ *gpu, s *stream) code {
		if max(there, here) > C.h5_handle(len(fake.gpus)) || min(there, here) < 1 {
			return invalidContext
		}
		dst, src := fake.gpus[there-1], fake.gpus[here-1]
		if !dst.peerAccessible(uint64(to), src) || !src.peerAccessible(uint64(from), dst) {
			return invalidValue
		}
		return fake.move(s, dst, uint64(to), src, uint64(from), int(bytes))
	})
}

// move copies between gpus, or within one, where the two must not overlap.
func (d *driver) move(s *stream, dst *gpu, to uint64, src *gpu, from uint64, bytes int) code {
	run := func() error {
		b, err := dst.memory.Bytes(to, bytes)
		if err != nil {
			return err
		}
		a, err := src.memory.Bytes(from, bytes)
		copy(b, a)
		return err
	}
	if dst == src && to < from+uint64(bytes) && from < to+uint64(bytes) {
		return invalidValue
	}
	for _, end := range []struct {
		*gpu
		at uint64
	}{{dst, to}, {src, from}} {
		if _, err := end.memory.Bytes(end.at, bytes); err != nil {
			return invalidValue
		}
	}
	return d.issue(s, position{}, run)
}

//export fake_cuStreamCreate
func fake_cuStreamCreate(handle *C.h5_handle, flags C.uint) code {
	return in(func(g *gpu) code {
		if flags != C.H5_STREAM_NON_BLOCKING {
			return invalidValue
		}
		s := &stream{gpu: g}
		g.streams = append(g.streams, s)
		*handle = C.h5_handle(fake.add(s))
		return success
	})
}

//export fake_cuStreamDestroy_v2
func fake_cuStreamDestroy_v2(handle C.h5_handle) code {
	return on(handle, func(*gpu, *stream) code {
		delete(fake.handles, uintptr(handle))
		return success
	})
}

//export fake_cuStreamSynchronize
func fake_cuStreamSynchronize(handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code {
		if s.capture != nil {
			return g.invalidateCaptures()
		}
		fake.await(s.end())
		return success
	})
}

// A wait is for where the event is now, not for where it may move. A stream that
// waits for one in a recording becomes part of that.
//
//export fake_cuStreamWaitEvent
func fake_cuStreamWaitEvent(handle, after C.h5_handle, _ C.uint) code {
	return on(handle, func(g *gpu, s *stream) code {
		e, c := lookup[*event](fake, uintptr(after))
		switch {
		case c != success:
			return c
		case e.captured == nil && s.capture == nil:
			return fake.issue(s, e.position, func() error { return nil })
		case e.captured == nil || e.captured.ended() || s.capture != nil && s.capture != e.captured.recording:
			g.invalidateCaptures()
			return captureIsolation
		}
		e.captured.recording.join(s, e.captured.after)
		return success
	})
}

//export fake_cuEventCreate
func fake_cuEventCreate(handle *C.h5_handle, flags C.uint) code {
	return in(func(*gpu) code {
		*handle = C.h5_handle(fake.add(&event{untimed: flags&C.H5_EVENT_DISABLE_TIMING != 0}))
		return success
	})
}

//export fake_cuEventDestroy_v2
func fake_cuEventDestroy_v2(handle C.h5_handle) code {
	return in(func(*gpu) code {
		_, c := lookup[*event](fake, uintptr(handle))
		delete(fake.handles, uintptr(handle))
		return c
	})
}

//export fake_cuEventRecord
func fake_cuEventRecord(handle, where C.h5_handle) code {
	return on(where, func(g *gpu, s *stream) code {
		e, c := lookup[*event](fake, uintptr(handle))
		switch {
		case c != success:
			return c
		case s.capture != nil:
			e.position, e.captured = position{}, &capturedEventNode{s.capture, s.dependencies}
		case g.capturing():
			return g.invalidateCaptures()
		default:
			e.position, e.captured = s.end(), nil
		}
		return success
	})
}

//export fake_cuEventQuery
func fake_cuEventQuery(handle C.h5_handle) code {
	return in(func(g *gpu) code {
		e, c := lookup[*event](fake, uintptr(handle))
		if c == success && e.captured != nil {
			g.invalidateCaptures()
			return capturedEvent
		}
		if c == success && !e.reached() {
			if fake.schedule == Deferred {
				fake.force(e.position) // who asks again and again must get on
			}
			return notReady
		}
		return c
	})
}

//export fake_cuEventSynchronize
func fake_cuEventSynchronize(handle C.h5_handle) code {
	return in(func(g *gpu) code {
		e, c := lookup[*event](fake, uintptr(handle))
		if c == success && e.captured != nil {
			g.invalidateCaptures()
			return capturedEvent
		}
		if c == success {
			fake.await(e.position)
		}
		return c
	})
}

// Tasks take no time; a millisecond each will do.
//
//export fake_cuEventElapsedTime
func fake_cuEventElapsedTime(ms *C.float, from, to C.h5_handle) code {
	return in(func(*gpu) code {
		first, c := lookup[*event](fake, uintptr(from))
		if c != success {
			return c
		}
		last, c := lookup[*event](fake, uintptr(to))
		if c == success && (first.untimed || last.untimed) {
			return invalidHandle
		}
		if c == success && !(first.reached() && last.reached()) {
			return notReady
		}
		*ms = C.float(last.since(first.position).Seconds() * 1e3)
		return c
	})
}

// The code that linking makes of PTX is the PTX, behind codeMark.
//
//export fake_cuLinkCreate_v2
func fake_cuLinkCreate_v2(count C.uint, options *C.int, values *unsafe.Pointer, state *C.h5_handle) code {
	return in(func(*gpu) code {
		*state = C.h5_handle(fake.add(&linking{log: logOf(count, options, values)}))
		return success
	})
}

//export fake_cuLinkAddData_v2
func fake_cuLinkAddData_v2(handle C.h5_handle, kind C.int, data unsafe.Pointer, bytes C.size_t, name *C.char, count C.uint, options *C.int, values *unsafe.Pointer) code {
	return in(func(*gpu) code {
		l, c := lookup[*linking](fake, uintptr(handle))
		if c != success {
			return c
		}
		text := C.GoStringN((*C.char)(data), C.int(bytes))
		if kind != C.H5_JIT_INPUT_PTX || !strings.HasSuffix(text, "\x00") {
			return invalidValue
		}
		if _, err := ptx.Parse(text[:len(text)-1]); err != nil {
			copy(l.log, err.Error())
			return invalidPTX
		}
		l.code = []byte(codeMark + text)
		return success
	})
}

//export fake_cuLinkComplete
func fake_cuLinkComplete(handle C.h5_handle, out *unsafe.Pointer, bytes *C.size_t) code {
	return in(func(*gpu) code {
		l, c := lookup[*linking](fake, uintptr(handle))
		if c != success || l.code == nil {
			return invalidValue
		}
		l.linked = C.CBytes(l.code)
		*out, *bytes = l.linked, C.size_t(len(l.code))
		return success
	})
}

//export fake_cuLinkDestroy
func fake_cuLinkDestroy(handle C.h5_handle) code {
	return in(func(*gpu) code {
		l, c := lookup[*linking](fake, uintptr(handle))
		if c == success {
			C.free(l.linked)
			delete(fake.handles, uintptr(handle))
		}
		return c
	})
}

// codeMark is what compiled code begins with, as machine code begins with the mark of ELF files.
const codeMark = "\x7fELF interpreted "

// A linking is a CUlinkState.
type linking struct {
	log    []byte
	code   []byte
	linked unsafe.Pointer // code, as the caller sees it until the linking is destroyed
}

// logOf returns the buffer for messages that options name, or nil.
func logOf(count C.uint, options *C.int, values *unsafe.Pointer) []byte {
	said := unsafe.Slice(values, count)
	if !slices.Equal(unsafe.Slice(options, count), []C.int{C.H5_JIT_ERROR_LOG, C.H5_JIT_ERROR_LOG_BYTES}) {
		return nil
	}
	return unsafe.Slice((*byte)(said[0]), uintptr(said[1])-1)
}

//export fake_cuModuleLoadDataEx
func fake_cuModuleLoadDataEx(handle *C.h5_handle, image unsafe.Pointer, count C.uint, options *C.int, values *unsafe.Pointer) code {
	return in(func(*gpu) code {
		text, compiled := strings.CutPrefix(C.GoString((*C.char)(image)), codeMark)
		m, err := ptx.Parse(plantIn(text))
		if err != nil && compiled {
			return invalidImage
		}
		if err != nil {
			log := logOf(count, options, values)
			if log == nil {
				return invalidValue
			}
			copy(log, err.Error())
			return invalidPTX
		}
		*handle = C.h5_handle(fake.add(m))
		return success
	})
}

//export fake_cuModuleGetFunction
func fake_cuModuleGetFunction(handle *C.h5_handle, module C.h5_handle, name *C.char) code {
	return in(func(*gpu) code {
		m, c := lookup[*ptx.Module](fake, uintptr(module))
		if c != success {
			return c
		}
		k := m.Kernels[C.GoString(name)]
		if k == nil {
			return notFound
		}
		*handle = C.h5_handle(fake.add(k))
		return success
	})
}

// unasked is the shared memory that a kernel may use without setting an attribute.
const unasked = 48 << 10

//export fake_cuFuncSetAttribute
func fake_cuFuncSetAttribute(function C.h5_handle, attribute, value C.int) code {
	return in(func(*gpu) code {
		k, c := lookup[*ptx.Kernel](fake, uintptr(function))
		if c != success {
			return c
		}
		if attribute != C.H5_FUNCTION_MAX_DYNAMIC_SHARED || value < 0 || k.Shared+int(value) > ptx.MostShared {
			return invalidValue
		}
		fake.maxDynamicShared[k] = int(value)
		return success
	})
}

//export fake_cuLaunchKernel
func fake_cuLaunchKernel(function C.h5_handle, gx, gy, gz, bx, by, bz, shared C.uint, handle C.h5_handle, params, _ *unsafe.Pointer) code {
	return on(handle, func(g *gpu, s *stream) code {
		k, c := lookup[*ptx.Kernel](fake, uintptr(function))
		if c != success {
			return c
		}
		l := ptx.Launch{
			Blocks:  [3]uint32{uint32(gx), uint32(gy), uint32(gz)},
			Threads: [3]uint32{uint32(bx), uint32(by), uint32(bz)},
			Shared:  int(shared), Params: gathered(k, params), CheckRaces: true,
		}
		if k.Check(l) != nil || l.Shared > fake.maxDynamicShared[k] && k.Shared+l.Shared > unasked {
			return invalidValue
		}
		return fake.issue(s, position{}, func() error {
			fake.countLaunch(k.Name)
			fake.setLastLaunch(l)
			if plantedIn(k.Name) == "crash" {
				return fmt.Errorf("%s: a planted fault", k.Name)
			}
			if fake.skipKernels.Load() {
				return nil
			}
			return fake.run(k, g.memory, l)
		})
	})
}

// gathered lays out parameters as a kernel expects them.
func gathered(k *ptx.Kernel, params *unsafe.Pointer) []byte {
	all := make([]byte, k.ParamBytes())
	for i, from := range unsafe.Slice(params, len(k.Params)) {
		p := k.Params[i]
		copy(all[p.Offset:], unsafe.Slice((*byte)(from), p.Size))
	}
	return all
}
