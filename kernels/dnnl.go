package kernels

// #cgo LDFLAGS: -ldnnl
// #include "dnnl_plan.h"
// #cgo noescape h5k_compile
// #cgo nocallback h5k_compile
// #cgo noescape h5k_execute
// #cgo nocallback h5k_execute
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A plan is a primitive that oneDNN compiled for one problem: one kind of
// operation, sizes, strides, number of threads.
type plan struct {
	mu   sync.Mutex // its memory objects serve one call at a time
	c    *C.h5k_plan
	used int
}

// plans remembers the plans used last. Choosing among candidates is by rule,
// never by the clock, so that the same program computes the same bits again.
var plans = struct {
	sync.Mutex
	of    map[C.h5k_problem]*plan
	most  int
	clock int
}{of: map[C.h5k_problem]*plan{}, most: 512}

// planFor returns the plan for q, which is compiled if it is new.
func planFor(q *C.h5k_problem) (*plan, error) {
	q.threads = C.int32_t(threadsFor(q))
	plans.Lock()
	defer plans.Unlock()
	plans.clock++
	if p, ok := plans.of[*q]; ok {
		p.used = plans.clock
		return p, nil
	}
	var status C.int
	c := C.h5k_compile(q, &status)
	if c == nil {
		return nil, fmt.Errorf("oneDNN %s cannot do it (status %d): %w", dnnlVersion(), status, storage.ErrState)
	}
	for len(plans.of) >= plans.most {
		forgetOldest()
	}
	p := &plan{c: c, used: plans.clock}
	runtime.AddCleanup(p, func(c *C.h5k_plan) { C.h5k_discard(c) }, c) // once nobody runs it
	plans.of[*q] = p
	return p, nil
}

// threadsFor returns how many threads the problem is worth: to wake a second
// one costs a microsecond or two, in which the first does 100,000 multiplications.
func threadsFor(q *C.h5k_problem) int {
	work := float64(q.w[0]) // terms in each sum of a product; C·P·Q of a convolution
	if q.op != C.H5K_MATMUL {
		work = float64(q.w[1]) * float64(q.w[2]) * float64(q.w[3])
	}
	for _, size := range q.y[:q.rank] {
		work *= float64(size)
	}
	if work <= 1<<18 {
		return 1
	}
	return Threads()
}

func forgetOldest() {
	var oldest C.h5k_problem
	used := plans.clock
	for q, p := range plans.of {
		if p.used < used {
			oldest, used = q, p.used
		}
	}
	delete(plans.of, oldest)
}

// run executes the plan. b may be nil.
func (p *plan) run(x, w, b, y *storage.Array) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	xp, xn := floats(x)
	wp, wn := floats(w)
	bp, bn := floats(b)
	yp, yn := floats(y)
	status := C.h5k_execute(p.c, xp, xn, wp, wn, bp, bn, yp, yn)
	runtime.KeepAlive(p)
	switch {
	case status == 0:
		return nil
	case status == -1:
		return fmt.Errorf("an operand is shorter than it claims: %w", views.ErrShape)
	case status == -2:
		return fmt.Errorf("no memory for scratch: %w", storage.ErrState)
	}
	return fmt.Errorf("oneDNN %s failed (status %d): %w", dnnlVersion(), status, storage.ErrState)
}

// implementation names the code that oneDNN chose.
func (p *plan) implementation() string { return C.GoString(C.h5k_implementation(p.c)) }

// floats returns the address of a's first element and how many elements its storage has from there on.
func floats(a *storage.Array) (*C.float, C.int64_t) {
	if a == nil {
		return nil, 0
	}
	bytes := a.Data.(storage.Host).Bytes()[a.Offset*4:]
	return (*C.float)(unsafe.Pointer(unsafe.SliceData(bytes))), C.int64_t(len(bytes) / 4)
}

func dnnlVersion() string {
	var major, minor, patch C.int
	C.h5k_dnnl_version(&major, &minor, &patch)
	return fmt.Sprintf("%d.%d.%d", major, minor, patch)
}
