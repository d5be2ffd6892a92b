// Package native is the compiled code of the kernels: C loops for each instruction set,
// matrix products and convolutions by oneDNN and OpenBLAS, and the threads they share.
//
// It knows slices, shapes and strides. What an operation means, which operands it takes
// and which of them are valid belong to package kernels.
package native

// #cgo CFLAGS: -O3 -std=gnu11 -fopenmp -Wall -Wextra -Wno-psabi
// #cgo LDFLAGS: -fopenmp -lm
// #include <pthread.h>
// #include <stdint.h>
// #include "h5k.h"
//
// static inline uintptr_t h5k_this_thread(void) { return (uintptr_t)pthread_self(); }
import "C"

import (
	"errors"
	"runtime"
)

func init() { SetThreads(runtime.GOMAXPROCS(0)) }

// ErrMemory is the failure of a function that could not allocate scratch memory.
var ErrMemory = errors.New("no memory for scratch")

// SetThreads sets how many threads compute, oneDNN's included, from each thread's next
// kernel on. Results do not depend on the number of threads, except that matrix products
// and convolutions may add in another order.
func SetThreads(n int) { C.h5k_set_threads(C.int(min(max(n, 1), 1024))) }

// ThisThread identifies the operating system's thread that calls it.
func ThisThread() uintptr { return uintptr(C.h5k_this_thread()) }

// Threads returns how many threads compute.
func Threads() int { return int(C.h5k_pool) }

// Alone runs f on a thread of its own, whose loops are not shared with other threads: for
// jobs that are as many as the threads.
func Alone(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.h5k_set_alone(1)
	defer C.h5k_set_alone(0)
	f()
}
