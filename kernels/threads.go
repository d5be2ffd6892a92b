package kernels

// #cgo CFLAGS: -O3 -std=gnu11 -fopenmp -Wall -Wextra
// #cgo LDFLAGS: -fopenmp -lm
// #include "h5k.h"
import "C"

import "runtime"

func init() { SetThreads(runtime.GOMAXPROCS(0)) }

// SetThreads sets how many threads compute, oneDNN's included. It holds from
// each thread's next kernel on. Results do not depend on it, except that sums
// inside matrix products and convolutions may be taken in another order.
func SetThreads(n int) { C.h5k_set_threads(C.int(min(max(n, 1), 1024))) }

// Threads returns how many threads compute.
func Threads() int { return int(C.h5k_pool) }
