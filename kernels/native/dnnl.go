package native

// #cgo linux LDFLAGS: -Wl,--as-needed
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

	"github.com/h5dnn/h5dnn/views"
)

// The operations that oneDNN runs: [Problem].Op.
const (
	ProductOp   = C.H5K_MATMUL
	ConvOp      = C.H5K_CONV
	ConvGradXOp = C.H5K_CONV_GRAD_X
	ConvGradWOp = C.H5K_CONV_GRAD_W
)

// The bits of [Problem].Reordered. Operands are named as in the forward operation: a gradient
// counts as the operand it is a gradient of.
const (
	ReordersX = 1 << C.H5K_X
	ReordersW = 1 << C.H5K_W
	ReordersY = 1 << C.H5K_Y
)

// A Problem is everything that a compiled oneDNN primitive depends on: h5k_problem of
// dnnl_plan.h, field by field.
type Problem struct {
	Op, Activation, Bias int32
	Reordered            int32 // operands that are copied: weights to oneDNN's layout, images to channels-last
	Threads, Rank        int32
	BF16                 int32    // 1 if operands that are read, but for the bias, are rounded to bfloat16
	Groups               int64    // of a convolution, whose weights are (outputs, inputs of a group, …)
	X, W, Y              [5]int64 // shapes
	XStride, WStride     [5]int64 // in elements, positive
	YStride              [5]int64
	// Of a convolution, by spatial axis; Pad is before the first element.
	Stride, Dilation, Pad [3]int64
}

var _ [unsafe.Sizeof(C.h5k_problem{})]byte = [unsafe.Sizeof(Problem{})]byte{}

// BF16 reports whether the processor multiplies numbers of bfloat16.
func BF16() bool { return C.h5k_bf16() != 0 }

// A plan is a compiled primitive.
type plan struct {
	mu   sync.Mutex // its memory objects serve one call at a time
	c    *C.h5k_plan
	used int
}

// plans caches the plans that were used last. oneDNN chooses an implementation by rule,
// not by timing, so that a program computes the same bits every time it runs.
var plans = struct {
	sync.Mutex
	of    map[Problem]*plan
	most  int
	clock int
}{of: map[Problem]*plan{}, most: 512}

// SetMostPlans sets how many of oneDNN's plans are cached, 512 by default, and returns how many were.
func SetMostPlans(n int) (old int) {
	plans.Lock()
	defer plans.Unlock()
	old, plans.most = plans.most, n
	return old
}

// Plans returns how many of oneDNN's plans are cached.
func Plans() int {
	plans.Lock()
	defer plans.Unlock()
	return len(plans.of)
}

// loadDNNL loads oneDNN on first use.
var loadDNNL = sync.OnceValue(func() error {
	if C.h5k_dnnl_load() != 0 {
		v := C.h5k_dnnl_major()
		return fmt.Errorf("oneDNN %d is not installed: libdnnl.so.%d was not found (Debian: libdnnl%d)", v, v, v)
	}
	return nil
})

// planFor returns the plan for q, and compiles it if it is new.
func planFor(q *Problem) (*plan, error) {
	if err := loadDNNL(); err != nil {
		return nil, err
	}
	q.Threads = int32(threadsFor(q))
	plans.Lock()
	defer plans.Unlock()
	plans.clock++
	if p, ok := plans.of[*q]; ok {
		p.used = plans.clock
		return p, nil
	}
	var status C.int
	c := C.h5k_compile((*C.h5k_problem)(unsafe.Pointer(q)), &status)
	if c == nil {
		return nil, fmt.Errorf("oneDNN %s cannot do it (status %d)", dnnlVersion(), status)
	}
	for len(plans.of) >= plans.most {
		evictOldest()
	}
	p := &plan{c: c, used: plans.clock}
	runtime.AddCleanup(p, func(c *C.h5k_plan) { C.h5k_discard(c) }, c) // when no call runs it any more
	plans.of[*q] = p
	return p, nil
}

// threadsFor returns how many threads to use: waking a second thread takes one or two
// microseconds, in which the first does 100,000 multiplications.
func threadsFor(q *Problem) int {
	work := float64(q.W[0]) // terms in each sum of a product; C·P·Q of a convolution
	if q.Op != ProductOp {
		work = 1
		for _, size := range q.W[1:q.Rank] {
			work *= float64(size)
		}
	}
	for _, size := range q.Y[:q.Rank] {
		work *= float64(size)
	}
	if work <= 1<<18 {
		return 1
	}
	return Threads()
}

func evictOldest() {
	var oldest Problem
	used := plans.clock
	for q, p := range plans.of {
		if p.used < used {
			oldest, used = q, p.used
		}
	}
	delete(plans.of, oldest)
}

// Blocks divides a product or a convolution by the first axis of x and y: a [Problem] describes
// one block. After each, while it is in a cache, Act is applied to it.
type Blocks struct {
	Count        int
	XStep, YStep int64 // from block to block, in elements
	Act          Op    // NoOp for none; else the y of a block is dense
}

// Run solves q with oneDNN. Each slice begins at its operand's first element; b may be
// nil. q.Threads is set by Run.
func (q *Problem) Run(x, w, b, y []float32) error {
	return q.RunBlocks(Blocks{Count: 1, Act: NoOp}, x, w, b, y, nil)
}

// RunBlocks is Run for each block, and z = act(y); z may be y.
func (q *Problem) RunBlocks(blocks Blocks, x, w, b, y, z []float32) error {
	p, err := planFor(q)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	status := C.h5k_execute(p.c, floats(x), C.int64_t(len(x)), floats(w), C.int64_t(len(w)), floats(b), C.int64_t(len(b)), floats(y), C.int64_t(len(y)),
		C.int64_t(blocks.Count), C.int64_t(blocks.XStep), C.int64_t(blocks.YStep), C.int(blocks.Act), floats(z), C.int64_t(len(z)))
	runtime.KeepAlive(p)
	switch {
	case status == 0:
		return nil
	case status == -1:
		return fmt.Errorf("an operand is shorter than its shape: %w", views.ErrShape)
	case status == -2:
		return ErrMemory
	}
	return fmt.Errorf("oneDNN %s failed (status %d)", dnnlVersion(), status)
}

func floats(x []float32) *C.float { return (*C.float)(unsafe.Pointer(unsafe.SliceData(x))) }

func dnnlVersion() string {
	if loadDNNL() != nil {
		return "not found"
	}
	var major, minor, patch C.int
	C.h5k_dnnl_version(&major, &minor, &patch)
	return fmt.Sprintf("%d.%d.%d", major, minor, patch)
}
