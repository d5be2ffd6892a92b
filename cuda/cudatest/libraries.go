package cudatest

// #include "libraries.h"
import "C"

import (
	"fmt"
	"hash/fnv"
	"testing"
	"unsafe"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/dtype"
)

func init() {
	if RealGPU() {
		return
	}
	for name, which := range map[string]C.int{"cuBLASLt": C.H5_LIBRARY_CUBLASLT, "cuDNN": C.H5_LIBRARY_CUDNN, "NCCL": C.H5_LIBRARY_NCCL} {
		cuda.OverrideLibrary(name, func(set func(name string, function unsafe.Pointer)) {
			for i := C.int(0); ; i++ {
				f := C.h5_library_fake(which, i)
				if f.name == nil {
					return
				}
				setFake(set, C.GoString(f.name), f.function)
			}
		})
	}
}

// UseLibraries makes devices use fakes of cuBLASLt and cuDNN until the test ends: plain
// loops in Go that check their arguments as strictly as NVIDIA's libraries do. Both
// support no algorithm for some problems.
//
// A real GPU uses NVIDIA's libraries; where one is not installed, the test is skipped.
func UseLibraries(t testing.TB, devices ...*cuda.Device) {
	t.Helper()
	if RealGPU() {
		for _, l := range cuda.Libraries()[:2] {
			if l.Missing != nil {
				t.Skipf("%s: %v", l.Name, l.Missing)
			}
		}
	}
	for _, d := range devices {
		d.UseLibraries(true)
		t.Cleanup(func() { d.UseLibraries(false) })
	}
}

// A status is a library's status code. The two libraries number them differently.
type status = C.h5_status

// locked runs f with the driver locked.
func locked(f func() status) status {
	fake.mu.Lock()
	defer fake.mu.Unlock()
	return f()
}

// issued runs f with a stream, which must be of the gpu whose context is current; else it
// returns refused.
func issued(by C.h5_handle, refused status, f func(g *gpu, s *stream) status) status {
	answer := refused
	if on(by, func(g *gpu, s *stream) code { answer = f(g, s); return success }) != success {
		return refused
	}
	return answer
}

// object returns the object of a library handle, or nil.
func object[T any](handle C.h5_object) *T {
	thing, _ := lookup[*T](fake, uintptr(handle))
	return thing
}

func create(handle *C.h5_object, thing any) status {
	*handle = C.h5_object(fake.add(thing))
	return 0
}

// destroy removes an object, which must be a T.
func destroy[T any](handle C.h5_object, refused status) status {
	return locked(func() status {
		if object[T](handle) == nil {
			return refused
		}
		delete(fake.handles, uintptr(handle))
		return 0
	})
}

// attribute copies a value to place, and reports whether it has place's size.
func attribute[T any](place *T, value unsafe.Pointer, bytes C.size_t) bool {
	if uintptr(bytes) != unsafe.Sizeof(*place) {
		return false
	}
	*place = *(*T)(value)
	return true
}

// load returns n elements of a gpu's memory.
func (g *gpu) load(address uint64, n int, t dtype.Type) ([]float64, error) {
	bytes, err := g.memory.Bytes(address, n*t.Size())
	if err != nil {
		return nil, err
	}
	all := make([]float64, n)
	return all, dtype.Convert(dtype.Bytes(all), dtype.Float64, bytes, t)
}

// store writes elements to a gpu's memory.
func (g *gpu) store(address uint64, all []float64, t dtype.Type) error {
	bytes, err := g.memory.Bytes(address, len(all)*t.Size())
	if err != nil {
		return err
	}
	return dtype.Convert(bytes, t, dtype.Bytes(all), dtype.Float64)
}

// holds reports whether n bytes at an address are allocated on the gpu.
func (g *gpu) holds(address uint64, n int) bool {
	_, err := g.memory.Bytes(address, n)
	return err == nil
}

// digest returns a hash of a problem.
func digest(problem ...any) C.uint64_t {
	h := fnv.New64()
	fmt.Fprint(h, problem...)
	return C.uint64_t(h.Sum64())
}
