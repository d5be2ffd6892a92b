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
	for name, which := range map[string]C.int{"cuBLASLt": C.H5_LIBRARY_CUBLASLT, "cuDNN": C.H5_LIBRARY_CUDNN} {
		cuda.OverrideLibrary(name, func(set func(name string, function unsafe.Pointer)) {
			for i := C.int(0); ; i++ {
				f := C.h5_library_fake(which, i)
				if f.name == nil {
					return
				}
				set(C.GoString(f.name), f.function)
			}
		})
	}
}

// Libraries makes devices compute by cuBLASLt and cuDNN until the test ends: by
// the slowest loops in Go, which are as particular about their arguments as
// NVIDIA's. Both have cases for which they know no algorithm.
func UseLibraries(t testing.TB, devices ...*cuda.Device) {
	for _, d := range devices {
		d.UseLibraries(true)
		t.Cleanup(func() { d.UseLibraries(false) })
	}
}

// A status is what a library answers. The two libraries number them differently.
type status = C.h5_status

// locked runs f with the driver locked.
func locked(f func() status) status {
	fake.mu.Lock()
	defer fake.mu.Unlock()
	return f()
}

// issued runs f by a stream of the gpu whose context is current; refused is the
// library's answer where that is not so.
func issued(by C.h5_handle, refused status, f func(g *gpu, s *stream) status) status {
	answer := refused
	if on(by, func(g *gpu, s *stream) code { answer = f(g, s); return success }) != success {
		return refused
	}
	return answer
}

// object returns what a handle of a library stands for, or nil.
func object[T any](handle C.h5_object) *T {
	thing, _ := lookup[*T](fake, uintptr(handle))
	return thing
}

func create(handle *C.h5_object, thing any) status {
	*handle = C.h5_object(fake.add(thing))
	return 0
}

// destroy forgets an object, which must be a T.
func destroy[T any](handle C.h5_object, refused status) status {
	return locked(func() status {
		if object[T](handle) == nil {
			return refused
		}
		delete(fake.handles, uintptr(handle))
		return 0
	})
}

// attribute copies a value to one of a place's size, and reports whether it has that size.
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

// store writes what load has returned, changed.
func (g *gpu) store(address uint64, all []float64, t dtype.Type) error {
	bytes, err := g.memory.Bytes(address, len(all)*t.Size())
	if err != nil {
		return err
	}
	return dtype.Convert(bytes, t, dtype.Bytes(all), dtype.Float64)
}

// holds reports whether n bytes at an address are a gpu's.
func (g *gpu) holds(address uint64, n int) bool {
	_, err := g.memory.Bytes(address, n)
	return err == nil
}

// digest returns a number that tells problems apart.
func digest(problem ...any) C.uint64_t {
	h := fnv.New64()
	fmt.Fprint(h, problem...)
	return C.uint64_t(h.Sum64())
}
