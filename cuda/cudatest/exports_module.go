package cudatest

// #include <stdlib.h>
// #include "table.h"
import "C"

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/h5dnn/h5dnn/cuda/ptx"
)

// fake_cuLinkCreate_v2: the code that linking makes of PTX is the PTX, behind codeMark.
//
//export fake_cuLinkCreate_v2
func fake_cuLinkCreate_v2(count C.uint, options *C.int, values *unsafe.Pointer, state *C.h5_handle) code {
	return in(func(*gpu) code {
		*state = C.h5_handle(fake.add(&linking{log: logOf(count, options, values)}))
		return success
	})
}

//export fake_cuLinkAddData_v2
func fake_cuLinkAddData_v2(handle C.h5_handle, kind C.int, data unsafe.Pointer, bytes C.size_t, name *C.char, count C.uint, options *C.int, values *unsafe.Pointer) code {
	return in(func(*gpu) code {
		l, c := lookup[*linking](fake, uintptr(handle))
		if c != success {
			return c
		}
		text := C.GoStringN((*C.char)(data), C.int(bytes))
		if kind != C.H5_JIT_INPUT_PTX || !strings.HasSuffix(text, "\x00") {
			return invalidValue
		}
		if _, err := ptx.Parse(text[:len(text)-1]); err != nil {
			copy(l.log, err.Error())
			return invalidPTX
		}
		l.code = []byte(codeMark + text)
		return success
	})
}

//export fake_cuLinkComplete
func fake_cuLinkComplete(handle C.h5_handle, out *unsafe.Pointer, bytes *C.size_t) code {
	return in(func(*gpu) code {
		l, c := lookup[*linking](fake, uintptr(handle))
		if c != success || l.code == nil {
			return invalidValue
		}
		l.linked = C.CBytes(l.code)
		*out, *bytes = l.linked, C.size_t(len(l.code))
		return success
	})
}

//export fake_cuLinkDestroy
func fake_cuLinkDestroy(handle C.h5_handle) code {
	return in(func(*gpu) code {
		l, c := lookup[*linking](fake, uintptr(handle))
		if c == success {
			C.free(l.linked)
			delete(fake.handles, uintptr(handle))
		}
		return c
	})
}

// codeMark is what compiled code begins with, as machine code begins with the mark of ELF files.
const codeMark = "\x7fELF interpreted "

// A linking is a CUlinkState.
type linking struct {
	log    []byte
	code   []byte
	linked unsafe.Pointer // code, as the caller sees it until the linking is destroyed
}

// logOf returns the buffer for messages that options name, or nil.
func logOf(count C.uint, options *C.int, values *unsafe.Pointer) []byte {
	said := unsafe.Slice(values, count)
	if !slices.Equal(unsafe.Slice(options, count), []C.int{C.H5_JIT_ERROR_LOG, C.H5_JIT_ERROR_LOG_BYTES}) {
		return nil
	}
	return unsafe.Slice((*byte)(said[0]), uintptr(said[1])-1)
}

//export fake_cuModuleLoadDataEx
func fake_cuModuleLoadDataEx(handle *C.h5_handle, image unsafe.Pointer, count C.uint, options *C.int, values *unsafe.Pointer) code {
	return in(func(*gpu) code {
		text, compiled := strings.CutPrefix(C.GoString((*C.char)(image)), codeMark)
		m, err := ptx.Parse(plantIn(text))
		if err != nil && compiled {
			return invalidImage
		}
		if err != nil {
			log := logOf(count, options, values)
			if log == nil {
				return invalidValue
			}
			copy(log, err.Error())
			return invalidPTX
		}
		*handle = C.h5_handle(fake.add(m))
		return success
	})
}

//export fake_cuModuleGetFunction
func fake_cuModuleGetFunction(handle *C.h5_handle, module C.h5_handle, name *C.char) code {
	return in(func(*gpu) code {
		m, c := lookup[*ptx.Module](fake, uintptr(module))
		if c != success {
			return c
		}
		k := m.Kernels[C.GoString(name)]
		if k == nil {
			return notFound
		}
		*handle = C.h5_handle(fake.add(k))
		return success
	})
}

// unasked is the shared memory that a kernel may use without setting an attribute.
const unasked = 48 << 10

//export fake_cuFuncSetAttribute
func fake_cuFuncSetAttribute(function C.h5_handle, attribute, value C.int) code {
	return in(func(*gpu) code {
		k, c := lookup[*ptx.Kernel](fake, uintptr(function))
		if c != success {
			return c
		}
		if attribute != C.H5_FUNCTION_MAX_DYNAMIC_SHARED || value < 0 || k.Shared+int(value) > ptx.MostShared {
			return invalidValue
		}
		fake.maxDynamicShared[k] = int(value)
		return success
	})
}

//export fake_cuLaunchKernel
func fake_cuLaunchKernel(function C.h5_handle, gx, gy, gz, bx, by, bz, shared C.uint, handle C.h5_handle, params, _ *unsafe.Pointer) code {
	return on(handle, func(g *gpu, s *stream) code {
		k, c := lookup[*ptx.Kernel](fake, uintptr(function))
		if c != success {
			return c
		}
		l := ptx.Launch{
			Blocks:  [3]uint32{uint32(gx), uint32(gy), uint32(gz)},
			Threads: [3]uint32{uint32(bx), uint32(by), uint32(bz)},
			Shared:  int(shared), Params: gathered(k, params), CheckRaces: true,
		}
		if k.Check(l) != nil || l.Shared > fake.maxDynamicShared[k] && k.Shared+l.Shared > unasked {
			return invalidValue
		}
		return fake.issue(s, position{}, func() error {
			fake.countLaunch(k.Name)
			fake.setLastLaunch(l)
			if plantedIn(k.Name) == "crash" {
				return fmt.Errorf("%s: a planted fault", k.Name)
			}
			if fake.skipKernels.Load() {
				return nil
			}
			return fake.run(k, g.memory, l)
		})
	})
}

// gathered lays out parameters as a kernel expects them.
func gathered(k *ptx.Kernel, params *unsafe.Pointer) []byte {
	all := make([]byte, k.ParamBytes())
	for i, from := range unsafe.Slice(params, len(k.Params)) {
		p := k.Params[i]
		copy(all[p.Offset:], unsafe.Slice((*byte)(from), p.Size))
	}
	return all
}
