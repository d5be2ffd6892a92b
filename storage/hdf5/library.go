package hdf5

// #cgo pkg-config: hdf5
// #cgo CFLAGS: -Wall -Wextra
// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	h5 "gonum.org/v1/hdf5"

	"github.com/h5dnn/h5dnn/dtype"
)

// library is held around every call of libhdf5, which is not re-entrant or,
// where it was built to be, has one lock of its own that blocks a thread each.
var library struct {
	sync.Mutex
	started bool
	refused error
	types   map[dtype.Type]*h5.Datatype // kept for good
}

// A libraryCall is one entry of the shim: it returns a negative number and leaves the
// reason in text if it fails.
type libraryCall func(text *C.char, size C.size_t) C.int64_t

// callLibrary makes one call under the library's lock.
func callLibrary(c libraryCall) (int64, error) {
	library.Lock()
	defer library.Unlock()
	if err := start(); err != nil {
		return 0, err
	}
	return callLocked(c)
}

// start prepares the library on first use. The caller holds its lock.
func start() error {
	if !library.started {
		library.started = true
		library.types = map[dtype.Type]*h5.Datatype{}
		_, library.refused = callLocked(func(text *C.char, size C.size_t) C.int64_t { return C.shim_start(text, size) })
	}
	return library.refused
}

func callLocked(c libraryCall) (int64, error) {
	var text [512]C.char
	result := c(&text[0], C.size_t(len(text)))
	if result < 0 {
		return 0, fmt.Errorf("libhdf5: %s", shortMessage(C.GoString(&text[0])))
	}
	return int64(result), nil
}

// shortMessage returns what the system said where the library wraps that in all it knows.
func shortMessage(text string) string {
	act, detail, long := strings.Cut(text, ": time = ")
	_, reason, ok := strings.Cut(detail, "error message = '")
	if reason, _, ends := strings.Cut(reason, "'"); long && ok && ends {
		return act + ": " + reason
	}
	return strings.Join(strings.Fields(text), " ")
}

// wrap gives an id to one of gonum's handles, which are made of nothing else
// that matters here and have no constructor.
func wrap[H h5.File | h5.Dataset | h5.Datatype](id int64) *H {
	handle := new(H)
	*(*int64)(unsafe.Pointer(handle)) = id
	return handle
}

func init() {
	if wrap[h5.File](7).ID() != 7 || wrap[h5.Dataset](7).ID() != 7 || wrap[h5.Datatype](7).ID() != 7 {
		panic("hdf5: gonum.org/v1/hdf5 keeps its ids elsewhere; use the version go.mod names")
	}
}

// closeFile closes a file of the library.
func closeFile(f *h5.File) error {
	library.Lock()
	defer library.Unlock()
	runtime.LockOSThread() // silence is a property of threads
	defer runtime.UnlockOSThread()
	C.shim_quiet()
	return f.Close()
}

// typeOf returns the library's type for t, in the machine's byte order.
func typeOf(t dtype.Type) (*h5.Datatype, error) {
	if !t.Valid() {
		return nil, fmt.Errorf("elements of type %v: %w", t, dtype.ErrType)
	}
	library.Lock()
	defer library.Unlock()
	if err := start(); err != nil {
		return nil, err
	}
	if known := library.types[t]; known != nil {
		return known, nil
	}
	id, err := callLocked(func(text *C.char, size C.size_t) C.int64_t {
		return C.shim_type(shimKind(t), C.size_t(t.Size()), text, size)
	})
	if err != nil {
		return nil, fmt.Errorf("type %v: %w", t, err)
	}
	library.types[t] = wrap[h5.Datatype](id)
	return library.types[t], nil
}

func shimKind(t dtype.Type) C.int {
	switch {
	case t == dtype.Bool:
		return C.H5DNN_BOOL
	case t == dtype.BFloat16:
		return C.H5DNN_BFLOAT
	case t == dtype.Float8E4M3:
		return C.H5DNN_F8E4M3
	case t == dtype.Float8E5M2:
		return C.H5DNN_F8E5M2
	case t.IsFloat():
		return C.H5DNN_FLOAT
	case t.IsComplex():
		return C.H5DNN_COMPLEX
	case t.IsSigned():
		return C.H5DNN_SIGNED
	default:
		return C.H5DNN_UNSIGNED
	}
}

// cString returns s as C wants it. Callers have seen to it that it holds no zero byte.
func cString(s string) *C.char { return (*C.char)(pointer(append([]byte(s), 0))) }

// sizes returns dims as C wants them, nil if there are none.
func sizes(dims []int) *C.uint64_t {
	wide := make([]C.uint64_t, len(dims))
	for i, n := range dims {
		wide[i] = C.uint64_t(n) // -1 becomes H5S_UNLIMITED
	}
	return unsafe.SliceData(wide)
}

// checkNoNUL refuses text that C would cut short.
func checkNoNUL(what, s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("%s %q has a zero byte, which HDF5 cannot keep", what, s)
	}
	return nil
}

// pointer returns the address of b's first byte for a C call.
func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
