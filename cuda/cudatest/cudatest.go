// Package cudatest is a CUDA driver in Go, with two GPUs whose code an
// interpreter runs, so that tests need no GPU: package cuda, its C shim and the
// kernels that ship are all tested as they are.
//
// It is as strict as a driver may be. Work runs as early or as late as the [Schedule]
// allows; new memory is poisoned; handles, contexts, sizes and launches are checked; and
// after a failed kernel every call fails with the interpreter's error message.
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

// A Schedule says when issued work runs.
type Schedule int

const (
	// Eager runs work when it is issued.
	Eager Schedule = iota
	// Deferred runs work as late as possible: when the host or another stream waits for
	// it. Code that lacks a wait gets wrong results.
	Deferred
	// Async runs each stream's work in a goroutine.
	Async
)

func (s Schedule) String() string { return [...]string{"eager", "deferred", "async"}[s] }

// Schedules lists all schedules; a real GPU has one only.
var Schedules = []Schedule{Eager, Deferred, Async}

// RealGPU reports whether tests run on this machine's GPUs, because H5DNN_TEST_GPU is
// set. The fake driver is not installed then, and if there is one GPU only it serves as
// both. Only some tests make sense there.
func RealGPU() bool { return os.Getenv("H5DNN_TEST_GPU") != "" }

// FakeOnly skips a test of what only the fake driver does or tells, where a real GPU is tested.
func FakeOnly(t testing.TB) {
	t.Helper()
	if RealGPU() {
		t.Skip("needs the fake driver")
	}
}

// TwoDevices skips a test that needs two GPUs where there is one.
func TwoDevices(t testing.TB) {
	t.Helper()
	if all, err := cuda.Devices(); err == nil && len(all) < 2 {
		t.Skip("needs two GPUs")
	}
}

// FaultStatus is the exit status of a test's process after a fault of a real GPU, which
// would fail all later tests too.
const FaultStatus = 3

func init() {
	if RealGPU() {
		Schedules = Schedules[:1]
		cuda.NotifyFault(func(err error) {
			fmt.Printf("\nGPU FAULT: %v\n", err)
			os.Exit(FaultStatus)
		})
		return
	}
	cuda.Override(func(set func(name string, function unsafe.Pointer)) {
		for i := range int(C.h5_fakes()) {
			f := C.h5_fake(C.int(i))
			setFake(set, C.GoString(f.name), f.function)
		}
	})
}

// Devices returns the two GPUs, cuda:0 and cuda:1, with the given schedule until the test
// ends. They use their own kernels; [UseLibraries] enables the fake libraries.
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

// CountInstructions returns the counters of all kernels that use launches.
func CountInstructions(use func()) *ptx.Counters {
	stop := CountKernels()
	use()
	all := new(ptx.Counters)
	for _, k := range stop() {
		all.Add(&k.Counters)
	}
	return all
}

// KernelCounters are the counters of the launches of one entry.
type KernelCounters struct {
	ptx.Counters
	Launches int
	// Microseconds is what the counted cycles take an H100: 528 schedulers, or as many as there are warps,
	// at 1.755 GHz. What waits for memory or for other warps takes longer.
	Microseconds float64
}

const (
	schedulers        = 4 * 132
	cyclesMicrosecond = 1755
	threadsOfAWarp    = 32
)

// CountKernels counts launches until stop, which returns the counters by entry.
func CountKernels() (stop func() map[string]*KernelCounters) {
	fake.count(map[string]*KernelCounters{})
	return func() map[string]*KernelCounters { return fake.count(nil) }
}

// run runs a kernel and counts it, if that is asked for.
func (d *driver) run(k *ptx.Kernel, m *ptx.Memory, l ptx.Launch) error {
	d.statsMu.Lock()
	counted := d.counters
	d.statsMu.Unlock()
	if counted == nil {
		return k.Run(m, l)
	}
	l.Counters = new(ptx.Counters)
	err := k.Run(m, l)
	warps := int(l.Blocks[0]*l.Blocks[1]*l.Blocks[2]) * int((l.Threads[0]*l.Threads[1]*l.Threads[2]+threadsOfAWarp-1)/threadsOfAWarp)
	d.statsMu.Lock()
	defer d.statsMu.Unlock()
	c := counted[k.Name]
	if c == nil {
		c = new(KernelCounters)
		counted[k.Name] = c
	}
	c.Add(l.Counters)
	c.Launches++
	c.Microseconds += float64(l.Counters.Cycles) / float64(min(schedulers, warps)) / cyclesMicrosecond
	return err
}

// SkipKernels makes launches be checked and counted, but not run, until the test ends:
// for tests of launches at sizes that would take the interpreter too long.
// Results are whatever memory holds.
func SkipKernels(t testing.TB) {
	FakeOnly(t)
	fake.skipKernels.Store(true)
	t.Cleanup(func() { fake.skipKernels.Store(false) })
}

// LaunchCounts returns how often each entry has been launched in this process.
func LaunchCounts() map[string]int {
	fake.statsMu.Lock()
	defer fake.statsMu.Unlock()
	return maps.Clone(fake.launchCounts)
}

// LastLaunch returns the launch configuration of the last kernel.
func LastLaunch() (blocks [3]uint32, threads uint32) {
	fake.statsMu.Lock()
	defer fake.statsMu.Unlock()
	return fake.lastLaunch.Blocks, fake.lastLaunch.Threads[0]
}

// LiveObjects returns the number of streams, events, graphs, library descriptors and
// pinned allocations that have not been destroyed, by kind.
func LiveObjects() map[string]int {
	fake.mu.Lock()
	defer fake.mu.Unlock()
	count := map[string]int{"pinned": len(fake.pinned)}
	for _, thing := range fake.handles {
		switch thing.(type) {
		case *pool, *ptx.Module, *ptx.Kernel, *ltHandle, *dnnHandle: // live as long as the device
		default:
			count[strings.TrimPrefix(fmt.Sprintf("%T", thing), "*cudatest.")]++
		}
	}
	return count
}

// DisablePeerAccess makes the GPUs unable to access each other's memory until the test ends.
func DisablePeerAccess(t testing.TB) {
	FakeOnly(t)
	fake.setPeerAccess(true)
	t.Cleanup(func() { fake.setPeerAccess(false) })
}

// LimitMemory limits the memory of a GPU until the test ends.
func LimitMemory(t testing.TB, d *cuda.Device, bytes int) {
	FakeOnly(t)
	old := fake.limit(d.String(), bytes)
	t.Cleanup(func() { fake.limit(d.String(), old) })
}

// SkipAddresses leaves a gap of addresses before d's next allocation.
func SkipAddresses(d *cuda.Device, bytes uint64) { fake.gpu(d.String()).memory.Skip(bytes) }

// Reset makes the GPUs usable again after a failure and discards pending work.
func Reset() { fake.recover() }

// CurrentContext returns the context that is current on this thread: a GPU's index plus
// one, or 0.
func CurrentContext() uintptr { return uintptr(C.h5_current()) }

// SetCurrentContext makes a context current without package cuda's knowledge, as another
// library in the process may.
func SetCurrentContext(context uintptr) { C.h5_set_current(C.h5_handle(context)) }
