package cuda

// #include <stdlib.h>
// #include "calls.h"
import "C"

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
)

// A module is device code, compiled by the driver for one device.
type module struct {
	handle    C.h5_handle
	params    map[string][]int // the sizes of each entry's parameters
	mu        sync.Mutex
	functions map[string]C.h5_handle // by entry, of those used so far
}

// load compiles PTX for d.
func (m *module) load(d *Device, text string) error {
	s := C.CString(text) // the driver wants it zero-terminated
	defer C.free(unsafe.Pointer(s))
	m.describe(text)
	var log compilerLog
	return log.explain(check("compile PTX", C.h5_module(d.context, &m.handle, unsafe.Pointer(s), &log[0], C.size_t(len(log)-1))))
}

// describe sets the entries' parameters from the code's PTX.
func (m *module) describe(text string) {
	m.params, m.functions = entries(text), map[string]C.h5_handle{}
}

// A compilerLog holds messages of the driver's compiler.
type compilerLog [4096]C.char

// explain returns err with the messages.
func (l *compilerLog) explain(err error) error {
	if err == nil || l[0] == 0 {
		return err
	}
	return fmt.Errorf("%w\n%s", err, strings.TrimSpace(C.GoString(&l[0])))
}

// function returns the handle of an entry with parameters of the given sizes.
func (m *module) function(d *Device, entry string, sizes ...int) (C.h5_handle, error) {
	want, ok := m.params[entry]
	if !ok {
		return 0, fmt.Errorf("no entry %s in the code for %v: %w", entry, d, storage.ErrState)
	}
	if !slices.Equal(sizes, want) {
		return 0, fmt.Errorf("entry %s takes parameters of %v bytes, not of %v: %w", entry, want, sizes, storage.ErrState)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if f, ok := m.functions[entry]; ok {
		return f, nil
	}
	s := C.CString(entry)
	defer C.free(unsafe.Pointer(s))
	var f C.h5_handle
	err := check("find entry "+entry, C.h5_function(d.context, &f, m.handle, s))
	if err == nil {
		m.functions[entry] = f
	}
	return f, err
}

// Launch launches an entry of the kernels' device code; args is its one parameter, a
// struct. It is called by the CUDA functions of kernels.
func (d *Device) Launch(entry string, blocks [3]uint32, threads uint32, args []byte) error {
	return d.launch(d.stream, entry, blocks, threads, args)
}

func (d *Device) launch(s *Stream, entry string, blocks [3]uint32, threads uint32, args []byte) error {
	f, err := d.code.function(d, entry, len(args))
	if err != nil {
		return err
	}
	d.count("launch", entry, 0)
	timer := d.startTimer(s)
	code := C.h5_launch(d.context, f, (*C.uint32_t)(&blocks[0]), C.uint32_t(threads), s.handle, unsafe.Pointer(&args[0]))
	runtime.KeepAlive(args)
	d.stopTimer(timer, s, entry)
	return d.check("launch "+entry, code)
}
