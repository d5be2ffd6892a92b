package cuda

// #include <stdlib.h>
// #include "compile.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// Compile compiles CUDA C++ to PTX with NVRTC, for a compute capability such as 80
// for 8.0 and with the given NVRTC options. The error contains the compiler's
// messages; name is the file name in them.
func Compile(name, source string, capability int, options ...string) (ptx string, err error) {
	if l := libraries[nvrtc].find(); l.Missing != nil {
		return "", fmt.Errorf("compile %s: %s: %w", name, l.Name, l.Missing)
	}
	if strings.ContainsRune(source+name+strings.Join(options, ""), 0) {
		return "", fmt.Errorf("compile %q: a zero byte in the source, its name or an option", name)
	}
	options = append([]string{fmt.Sprintf("--gpu-architecture=compute_%d", capability)}, options...)
	list := (**C.char)(C.calloc(C.size_t(len(options)), C.size_t(unsafe.Sizeof((*C.char)(nil)))))
	defer C.free(unsafe.Pointer(list))
	for i, option := range options {
		s := C.CString(option)
		defer C.free(unsafe.Pointer(s))
		unsafe.Slice(list, len(options))[i] = s
	}
	return compile(name, source, C.int(len(options)), list)
}

func compile(name, source string, count C.int, options **C.char) (string, error) {
	text, file := C.CString(source), C.CString(name)
	defer C.free(unsafe.Pointer(text))
	defer C.free(unsafe.Pointer(file))
	var ptx, log *C.char
	code := C.h5_compile(text, file, count, options, &ptx, &log)
	defer C.free(unsafe.Pointer(ptx))
	defer C.free(unsafe.Pointer(log))
	if err := status("compile "+name, code, func(code C.h5_status) *C.char { return C.h5_nvrtc_text(code) }); err != nil {
		return "", fmt.Errorf("%w\n%s", err, strings.TrimSpace(C.GoString(log)))
	}
	if ptx == nil {
		return "", fmt.Errorf("compile %s: %w", name, errors.New("NVRTC gives no PTX; compile for a virtual architecture"))
	}
	return C.GoString(ptx), nil
}
