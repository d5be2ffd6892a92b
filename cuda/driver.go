package cuda

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "calls.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
)

// ErrNoDriver is the kind of error, for errors.Is, where no driver is installed
// or it finds no GPU.
var ErrNoDriver = errors.New("no CUDA")

// A Driver is what was found of CUDA on this machine.
type Driver struct {
	Path    string // of the library
	Version string // of CUDA that it supports, as "12.4"
	Count   int    // of GPUs
}

// Find opens the driver, once, and returns what it is. The error says what was
// looked for, and where.
func Find() (Driver, error) { return find() }

// candidates are where drivers lie: where the dynamic linker knows of, where
// containers have them mounted, Debian's place and WSL's.
var driverPaths = []string{
	"libcuda.so.1", "libcuda.so", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
}

// override, if set, is called in place of opening a library: tests bring a
// driver in Go.
var override func(set func(name string, function unsafe.Pointer))

// Override makes this process use a driver of its own instead of NVIDIA's: use
// gives the functions, by their names in the driver. It must be called before
// anything else here, and is there for package cudatest.
func Override(use func(set func(name string, function unsafe.Pointer))) { override = use }

var find = sync.OnceValues(func() (d Driver, err error) {
	if d.Path, err = loadDriver(); err != nil {
		return d, err
	}
	if err := check("start the driver", C.h5_init()); err != nil {
		return d, fmt.Errorf("%w: %s: %w; %s", ErrNoDriver, d.Path, err, driverHint)
	}
	var version, count C.int
	if err := check("ask the driver's version", C.h5_version(&version)); err != nil {
		return d, err
	}
	if err := check("count devices", C.h5_count(&count)); err != nil {
		return d, err
	}
	d.Version, d.Count = fmt.Sprintf("%d.%d", version/1000, version%1000/10), int(count)
	if count == 0 {
		return d, fmt.Errorf("%w: %s, which is for CUDA %s, finds no GPU; %s", ErrNoDriver, d.Path, d.Version, driverHint)
	}
	return d, nil
})

// seek is what to do about a driver that finds nothing.
const driverHint = "see what nvidia-smi finds, whether CUDA_VISIBLE_DEVICES hides it, and whether a container was started with GPUs"

// load finds the driver's functions and returns where they are from.
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
	return "", fmt.Errorf("%w: no driver among %s; install NVIDIA's, or name its library in H5DNN_LIBCUDA", ErrNoDriver, strings.Join(paths, ", "))
}

// An Error is what the driver answered.
type Error struct {
	Code       int
	Name, Text string // "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%s, %d)", e.Text, e.Name, e.Code) }

// Is makes one of the driver's answers an error of a kind that others know.
func (e *Error) Is(kind error) bool { return kind == storage.ErrMemory && e.Code == outOfMemory }

// Codes that mean more than failure.
const (
	outOfMemory = C.H5_OUT_OF_MEMORY
	notReady    = C.H5_NOT_READY
)

// check returns the driver's answer as an error, or nil.
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
	return fmt.Errorf("%s: %w", act, e)
}

func isCode(err error, code int) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
