package libhdf5

// #cgo linux LDFLAGS: -Wl,--as-needed
// #cgo linux CFLAGS: -I/usr/include/hdf5/serial
// #cgo CFLAGS: -Wall -Wextra
// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	h5 "gonum.org/v1/hdf5"

	"github.com/h5dnn/h5dnn/dtype"
)

// library is locked during every call of libhdf5, which is either not thread-safe or
// has a global lock of its own that blocks an operating system thread per caller.
var library struct {
	sync.Mutex
	started  bool
	startErr error
	types    map[dtype.Type]ID // never closed
}

// A shimCall calls one function of shim.h, which returns a negative number and leaves a
// message in text if it fails.
type shimCall func(text *C.char, size C.size_t) C.int64_t

// call makes one call under the library's lock.
func call(c shimCall) (int64, error) {
	library.Lock()
	defer library.Unlock()
	if err := start(); err != nil {
		return 0, err
	}
	return callLocked(c)
}

// start initializes the library on first use. The caller holds its lock.
func start() error {
	if !library.started {
		library.started = true
		library.types = map[dtype.Type]ID{}
		_, library.startErr = callLocked(func(text *C.char, size C.size_t) C.int64_t {
			if loaded := C.shim_load(text, size); loaded < 0 {
				return loaded
			}
			return C.shim_start(text, size)
		})
	}
	return library.startErr
}

// Version returns the version of the library.
func Version() (string, error) {
	library.Lock()
	defer library.Unlock()
	if err := start(); err != nil {
		return "", err
	}
	version, err := h5.LibVersion()
	return version.String(), err
}

func callLocked(c shimCall) (int64, error) {
	var text [512]C.char
	result := c(&text[0], C.size_t(len(text)))
	if result >= 0 {
		return int64(result), nil
	}
	err := fmt.Errorf("libhdf5: %s", shortMessage(C.GoString(&text[0])))
	if result == C.H5DNN_PARTIAL {
		err = partialError{err}
	}
	return 0, err
}

// Close releases the object. Files have their own method.
func (id ID) Close() error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t { return C.shim_close(C.int64_t(id), msg, size) })
	return err
}

// A File is a file that is open in the library.
type File struct{ h5 *h5.File }

// newFile wraps an ID in gonum's type, which has no constructor and no other content
// that matters here.
func newFile(id int64) *File {
	f := new(h5.File)
	*(*int64)(unsafe.Pointer(f)) = id
	return &File{f}
}

func init() {
	if newFile(7).h5.ID() != 7 {
		panic("libhdf5: gonum.org/v1/hdf5 stores IDs in another place; use the version in go.mod")
	}
}

func (f *File) id() C.int64_t { return C.int64_t(f.h5.ID()) }

// Close flushes and closes the file.
func (f *File) Close() error {
	library.Lock()
	defer library.Unlock()
	runtime.LockOSThread() // error printing is switched off per thread
	defer runtime.UnlockOSThread()
	C.shim_quiet()
	return f.h5.Close()
}

// CreateFile creates or truncates a file that begins with a user block of the given
// size: 0, or a power of two from 512 on. Its space is allocated in pages of some bytes, unless these are 0.
func CreateFile(path string, userBlock, page int) (*File, error) {
	id, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_create(cString(path), C.uint64_t(userBlock), C.uint64_t(page), msg, size)
	})
	if err != nil {
		return nil, err
	}
	return newFile(id), nil
}

// OpenFile opens a file for reading.
func OpenFile(path string) (*File, error) {
	id, err := call(func(msg *C.char, size C.size_t) C.int64_t { return C.shim_open(cString(path), msg, size) })
	if err != nil {
		return nil, err
	}
	return newFile(id), nil
}

// Type returns the library's type for t, in the machine's byte order. It is never closed.
func Type(t dtype.Type) (ID, error) {
	if !t.Valid() {
		return 0, fmt.Errorf("elements of type %v: %w", t, dtype.ErrType)
	}
	library.Lock()
	defer library.Unlock()
	if err := start(); err != nil {
		return 0, err
	}
	if known, ok := library.types[t]; ok {
		return known, nil
	}
	id, err := callLocked(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_type(shimKind(t), C.size_t(t.Size()), msg, size)
	})
	if err != nil {
		return 0, fmt.Errorf("type %v: %w", t, err)
	}
	library.types[t] = ID(id)
	return ID(id), nil
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

// DecodeType returns the type that a well-formed datatype message describes.
func DecodeType(message []byte) (ID, error) {
	id, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_decode_type(pointer(message), C.size_t(len(message)), msg, size)
	})
	return ID(id), err
}

// cString returns s as a C string. Callers have checked that it contains no NUL.
func cString(s string) *C.char { return (*C.char)(pointer(append([]byte(s), 0))) }

// hsizes returns dims as C sizes, or nil if there are none. -1 becomes H5S_UNLIMITED.
func hsizes(dims []int) *C.uint64_t {
	wide := make([]C.uint64_t, len(dims))
	for i, n := range dims {
		wide[i] = C.uint64_t(n)
	}
	return unsafe.SliceData(wide)
}

func uint32s(list []uint32) *C.uint32_t { return (*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(list))) }
func uint64s(list []uint64) *C.uint64_t { return (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(list))) }

// pointer returns the address of b's first byte for a C call.
func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
