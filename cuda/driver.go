package cuda

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "calls.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
)

// ErrNoDriver is the error, for errors.Is, if no driver is installed or it finds no GPU.
var ErrNoDriver = errors.New("no CUDA")

// A Driver describes the CUDA driver of this machine.
type Driver struct {
	Path    string // of the library, as it was searched for
	File    string // that the library was loaded from; the program itself in tests
	Version string // of the CUDA version that it supports, such as "12.4"
	Count   int    // of GPUs
}

// Find opens the driver, once, and describes it. The error lists the searched paths.
func Find() (Driver, error) { return find() }

// driverPaths are searched for the driver: the dynamic linker's path, the mount points
// of containers, Debian's and WSL's folders.
var driverPaths = []string{
	"libcuda.so.1", "libcuda.so", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
}

// override, if set, provides the driver's functions instead of a library.
var override func(set func(name string, function unsafe.Pointer))

// Override makes this process use other driver functions than NVIDIA's: use calls set
// with each function by its name. It must be called before anything else of this
// package. Package cudatest uses it.
func Override(use func(set func(name string, function unsafe.Pointer))) { override = use }

var find = sync.OnceValues(func() (d Driver, err error) {
	if d.Path, err = loadDriver(); err != nil {
		return d, err
	}
	if err := check("initialize the driver", C.h5_init()); err != nil {
		return d, fmt.Errorf("%w: %s: %w; %s", ErrNoDriver, d.Path, err, driverHint)
	}
	var version, count C.int
	if err := check("query the driver's version", C.h5_version(&version)); err != nil {
		return d, err
	}
	if err := check("count devices", C.h5_count(&count)); err != nil {
		return d, err
	}
	if file := C.h5_file(); file != nil {
		d.File = C.GoString(file)
	}
	d.Version, d.Count = fmt.Sprintf("%d.%d", version/1000, version%1000/10), int(count)
	if count == 0 {
		return d, fmt.Errorf("%w: %s, for CUDA %s, finds no GPU; %s", ErrNoDriver, d.Path, d.Version, driverHint)
	}
	return d, nil
})

// driverHint says what to check if a driver finds no GPU.
const driverHint = "check nvidia-smi, CUDA_VISIBLE_DEVICES, and whether the container was started with GPUs"

// loadDriver loads the driver's functions and returns the library's path.
func loadDriver() (path string, err error) {
	if override != nil {
		override(func(name string, function unsafe.Pointer) {
			s := C.CString(name)
			defer C.free(unsafe.Pointer(s))
			if C.h5_override(s, function) == 0 {
				panic("cuda: the driver has no " + name)
			}
		})
		return "override", nil
	}
	paths := driverPaths
	if named := os.Getenv("H5DNN_LIBCUDA"); named != "" {
		paths = []string{named}
		if whole, err := filepath.Abs(named); err == nil && fileExists(whole) {
			paths[0] = whole // a bare name would be looked for in the system's folders only
		}
	}
	var wrong []string
	for _, path := range paths {
		s := C.CString(path)
		problem := C.h5_open(s)
		C.free(unsafe.Pointer(s))
		if problem == nil {
			return path, nil
		}
		if text := C.GoString(problem); !strings.Contains(text, "No such file") {
			wrong = append(wrong, path+": "+strings.TrimPrefix(text, path+": "))
		}
	}
	if len(wrong) > 0 {
		return "", fmt.Errorf("%w: %s", ErrNoDriver, strings.Join(wrong, "; "))
	}
	return "", fmt.Errorf("%w: no driver found (tried %s); install NVIDIA's, or set H5DNN_LIBCUDA to its path", ErrNoDriver, strings.Join(paths, ", "))
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// An Error is an error code of the driver.
type Error struct {
	Code       int
	Name, Text string // "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%s, %d)", e.Text, e.Name, e.Code) }

// Is reports whether the code means kind.
func (e *Error) Is(kind error) bool { return kind == storage.ErrMemory && e.Code == outOfMemory }

// Codes that callers distinguish.
const (
	outOfMemory = C.H5_OUT_OF_MEMORY
	notReady    = C.H5_NOT_READY

	launchFailed = C.H5_LAUNCH_FAILED
)

// NotifyFault makes f be called with the first error after which a GPU's context cannot be
// used any more, because a kernel failed. Every later call fails: a process that cannot
// go on may end there, with a message that names the cause.
func NotifyFault(f func(err error)) {
	var once sync.Once
	notify := func(err error) { once.Do(func() { f(err) }) }
	onFault.Store(&notify)
}

var onFault atomic.Pointer[func(error)]

// faults are the codes of such errors.
var faults = []int{214, 220, 700, 702, 710, 714, 715, 716, 717, 718, launchFailed} // uncorrectable memory, illegal addresses and instructions, ...

// check returns the driver's result code as an error, or nil.
func check(act string, code C.h5_result) error {
	if code == 0 {
		return nil
	}
	e := &Error{Code: int(code), Name: "CUDA_ERROR", Text: "unknown error"}
	var name, text *C.char
	if C.h5_error_name(code, &name) == 0 && name != nil {
		e.Name = C.GoString(name)
	}
	if C.h5_error_text(code, &text) == 0 && text != nil {
		e.Text = C.GoString(text)
	}
	err := fmt.Errorf("%s: %w", act, e)
	if notify := onFault.Load(); notify != nil && slices.Contains(faults, e.Code) {
		(*notify)(err)
	}
	return err
}

func isCode(err error, code int) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
