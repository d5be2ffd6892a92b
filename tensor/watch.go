package tensor

import (
	"cmp"
	"fmt"
	"math"
	"math/cmplx"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/internal/trace"
	"github.com/h5dnn/h5dnn/storage"
)

// DetectAnomaly runs f. Meanwhile an operation whose result has a NaN fails by name, and so
// does one whose Backward returns a NaN, saying where it was called: the first of them in f.
// Results are read on the host, so that f is slow. Other goroutines are checked, too.
func DetectAnomaly(f func()) {
	anomalies.Add(1)
	defer anomalies.Add(-1)
	f()
}

var anomalies atomic.Int32 // how many calls of DetectAnomaly run

func detecting() bool { return anomalies.Load() > 0 }

// checkNaN fails if one of the arrays has a NaN.
func checkNaN(act string, in, out []storage.Array) {
	for _, y := range out {
		at := nanIn(y)
		if at < 0 {
			continue
		}
		from := "though no operand has one"
		for i, x := range in {
			if nanIn(x) >= 0 {
				from = fmt.Sprintf("as operand %d has", i)
				break
			}
		}
		fail(act, ErrState, "the result %v has a NaN at element %d, %s; called at %s", y, at, from, caller())
	}
}

// nanIn returns the position of the first NaN in row-major order, or -1.
func nanIn(a storage.Array) int {
	switch {
	case a.Data.Device() == Meta || a.Type.StorageOnly():
		return -1
	case a.Type.IsComplex():
		elems, err := storage.Read[complex128](a)
		check("anomaly", err)
		return slices.IndexFunc(elems, cmplx.IsNaN)
	case a.Type.IsFloat():
		elems, err := storage.Read[float64](a)
		check("anomaly", err)
		return slices.IndexFunc(elems, math.IsNaN)
	}
	return -1
}

// caller returns the file and line of the innermost call from outside of this package.
func caller() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "github.com/h5dnn/h5dnn/tensor.") || !more {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
	}
}

// backwardDetecting is backward that fails for the first NaN, naming n.
func (p *pass) backwardDetecting(n *node, op Op, grads, in []*Tensor) []*Tensor {
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case *Error:
			panic(&Error{"backward of " + op.Name(), errkind.Errorf(ErrState, "%v; called at %s", failed, n.at)})
		default:
			panic(failed)
		}
	}()
	dxs := p.backward(op, n.out, grads, in)
	for i, dx := range dxs {
		if dx != nil && nanIn(dx.array) >= 0 {
			fail("gradient", ErrState, "of operand %d, %v, has a NaN at element %d", i, dx.array, nanIn(dx.array))
		}
	}
	return dxs
}

// An OperationProfile adds up the calls of one operation, by its name.
type OperationProfile struct {
	Name     string
	Backward bool // whether backward passes called it
	Calls    int
	Time     time.Duration
	Bytes    int // of operands and results, as many as their views have
}

func (p OperationProfile) String() string {
	pass := "forward"
	if p.Backward {
		pass = "backward"
	}
	return fmt.Sprintf("%-24s %-8s %8d calls %12v %10.1f MB", p.Name, pass, p.Calls, p.Time, float64(p.Bytes)/1e6)
}

// Profile runs f and returns what each operation took meanwhile, in all goroutines, the
// longest first. Reading from a file is an operation of its own, "read" with the name of the file; on tensors over
// files an operation has a call for each part that it computes. Devices are waited for around each call; it cannot profile captured graphs.
func Profile(f func()) []OperationProfile {
	all := &profile{outer: profiling.Load(), of: map[profiled]*OperationProfile{}}
	profiling.Store(all)
	defer profiling.Store(all.outer)
	f()
	all.Lock()
	defer all.Unlock()
	list := []OperationProfile{}
	for _, p := range all.of {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b OperationProfile) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Name, b.Name))
	})
	return list
}

var profiling atomic.Pointer[profile]

type profile struct {
	sync.Mutex
	of    map[profiled]*OperationProfile
	outer *profile // of a call of Profile around this one
}

type profiled struct {
	name     string
	backward bool
}

// watched runs an operation, or a kernel, on d, and checks and measures it if that is asked for.
func watched(name string, m mode, d storage.Device, out, in []storage.Array, run func() error) {
	p := profiling.Load()
	if p != nil {
		check(name, d.Sync())
	}
	began, span := time.Now(), trace.Begin(trace.Operation, m.named(name), -1)
	check(name, run())
	if p != nil {
		check(name, d.Sync())
	}
	span.End()
	took, bytes := time.Since(began), 0
	for _, a := range slices.Concat(out, in) {
		bytes += a.NBytes()
	}
	p.add(profiled{name, m.backward}, took, bytes)
	if detecting() {
		checkNaN(name, in, out)
	}
}

// named returns the name of an operation in a pass.
func (m mode) named(name string) string {
	if m.backward {
		return name + " backward"
	}
	return name
}

// add adds a call to p, which may be nil, and to the profiles around it.
func (p *profile) add(key profiled, took time.Duration, bytes int) {
	for ; p != nil; p = p.outer {
		p.Lock()
		if p.of[key] == nil {
			p.of[key] = &OperationProfile{Name: key.name, Backward: key.backward}
		}
		one := p.of[key]
		one.Calls, one.Time, one.Bytes = one.Calls+1, one.Time+took, one.Bytes+bytes
		p.Unlock()
	}
}

// watching reports whether watched has anything to do.
func watching() bool { return detecting() || profiling.Load() != nil || trace.Spans() }
