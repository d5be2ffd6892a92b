// Package cudatest is a CUDA driver in Go, with two GPUs whose code an
// interpreter runs, so that tests need no GPU: package cuda, its C shim and the
// kernels that ship are all tested as they are.
//
// It is as unforgiving as a driver may be. Work is done as early or as late as
// a [Schedule] says, memory is poisoned, handles, contexts, sizes and launches
// are checked, and after a failed kernel every call fails, with what the
// interpreter has to say about it as the error's text.
package cudatest

// #include "table.h"
import "C"

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/ptx"
)

// A Schedule says when work that was issued is done.
type Schedule int

const (
	// Eager work is done when it is issued.
	Eager Schedule = iota
	// Deferred work is done as late as possible: when the host waits for it, or
	// what it waits for needs it. What relies on more has other results.
	Deferred
	// Async work is done by a goroutine for each stream.
	Async
)

func (s Schedule) String() string { return [...]string{"eager", "deferred", "async"}[s] }

// Schedules lists all of them.
var Schedules = []Schedule{Eager, Deferred, Async}

// Real reports whether tests run on GPUs of this machine instead, because
// H5DNN_TEST_GPU is set. Only some make sense there: nothing here plays the driver
// then, and there may be one GPU only, which is both.
func RealGPU() bool { return os.Getenv("H5DNN_TEST_GPU") != "" }

func init() {
	if RealGPU() {
		return
	}
	cuda.Override(func(set func(name string, function unsafe.Pointer)) {
		for i := range int(C.h5_fakes()) {
			f := C.h5_fake(C.int(i))
			set(C.GoString(f.name), f.function)
		}
	})
}

// Devices returns the two GPUs, cuda:0 and cuda:1, scheduled so until the test ends.
// They compute by their own kernels, and by [Libraries] only where a test asks for them.
func Devices(t testing.TB, s Schedule) [2]*cuda.Device {
	t.Helper()
	var both [2]*cuda.Device
	for i, name := range []string{"cuda:0", "cuda:1"} {
		d, err := cuda.Open(name)
		if i > 0 && err != nil && RealGPU() {
			d, err = both[0], nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if RealGPU() {
			d.UseLibraries(false)
		}
		both[i] = d
	}
	fake.setSchedule(s)
	t.Cleanup(func() { fake.setSchedule(Eager) })
	return both
}

// Count returns what use asks of the GPUs.
func CountInstructions(use func()) *ptx.Counters {
	fake.count(new(ptx.Counters))
	use()
	return fake.count(nil)
}

// Launched returns how often each entry ran in this process so far.
func LaunchCounts() map[string]int {
	fake.statsMu.Lock()
	defer fake.statsMu.Unlock()
	return maps.Clone(fake.launchCounts)
}

// Last returns how the kernel that ran last was launched.
func LastLaunch() (blocks [3]uint32, threads uint32) {
	fake.statsMu.Lock()
	defer fake.statsMu.Unlock()
	return fake.lastLaunch.Blocks, fake.lastLaunch.Threads[0]
}

// Objects returns how many streams, events, graphs, descriptors of libraries and pieces of
// pinned memory there are that someone has to destroy, by kind.
func LiveObjects() map[string]int {
	fake.mu.Lock()
	defer fake.mu.Unlock()
	count := map[string]int{"pinned": len(fake.pinned)}
	for _, thing := range fake.handles {
		switch thing.(type) {
		case *pool, *ptx.Module, *ptx.Kernel, *ltHandle, *dnnHandle: // for as long as there is the device
		default:
			count[strings.TrimPrefix(fmt.Sprintf("%T", thing), "*cudatest.")]++
		}
	}
	return count
}

// Separate keeps the GPUs from reaching each other's memory until the test ends.
func DisablePeerAccess(t testing.TB) {
	fake.setPeerAccess(true)
	t.Cleanup(func() { fake.setPeerAccess(false) })
}

// Limit lets a GPU have no more than so many bytes until the test ends.
func LimitMemory(t testing.TB, d *cuda.Device, bytes int) {
	old := fake.limit(d.String(), bytes)
	t.Cleanup(func() { fake.limit(d.String(), old) })
}

// Apart puts so many addresses between what d has allocated and what it allocates next.
func SkipAddresses(d *cuda.Device, bytes uint64) { fake.gpu(d.String()).memory.Skip(bytes) }

// Recover makes GPUs that failed work again, without what was still to be done.
func Reset() { fake.recover() }

// Current returns the context that is current on this thread: a GPU's index and
// one, or 0.
func CurrentContext() uintptr { return uintptr(C.h5_current()) }

// MakeCurrent makes a context current behind package cuda's back, as another
// library in the process may.
func SetCurrentContext(context uintptr) { C.h5_set_current(C.h5_handle(context)) }
