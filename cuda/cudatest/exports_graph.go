package cudatest

// #include "table.h"
import "C"

import (
	"slices"
	"unsafe"
)

// invalidateCaptures invalidates all captures of a gpu.
func (g *gpu) invalidateCaptures() code {
	for _, s := range g.streams {
		if s.capture != nil {
			s.capture.broken = true
		}
	}
	return captureUnsupported
}

// capturing reports whether a stream of g is being captured.
func (g *gpu) capturing() bool {
	return slices.ContainsFunc(g.streams, func(s *stream) bool { return s.capture != nil })
}

//export fake_cuStreamBeginCapture_v2
func fake_cuStreamBeginCapture_v2(handle C.h5_handle, mode C.int) code {
	return on(handle, func(g *gpu, s *stream) code {
		if mode != C.H5_CAPTURE_RELAXED || g.capturing() {
			return invalidValue
		}
		r := &capture{origin: s}
		r.join(s, nil)
		return success
	})
}

//export fake_cuStreamEndCapture
func fake_cuStreamEndCapture(handle C.h5_handle, out *C.h5_handle) code {
	*out = 0
	return on(handle, func(_ *gpu, s *stream) code {
		r := s.capture
		if r == nil || r.origin != s {
			return invalidValue
		}
		switch joined := r.end(); {
		case r.broken:
			return captureInvalidated
		case !joined:
			return captureUnjoined
		}
		*out = C.h5_handle(fake.add(&graph{nodes: r.nodes}))
		return success
	})
}

//export fake_cuGraphInstantiateWithFlags
func fake_cuGraphInstantiateWithFlags(exec *C.h5_handle, handle C.h5_handle, flags C.ulonglong) code {
	return in(func(*gpu) code {
		g, c := lookup[*graph](fake, uintptr(handle))
		if c != success || flags != 0 {
			return invalidValue
		}
		*exec = C.h5_handle(fake.add(&executable{g}))
		return success
	})
}

//export fake_cuGraphDestroy
func fake_cuGraphDestroy(handle C.h5_handle) code {
	return in(func(*gpu) code {
		_, c := lookup[*graph](fake, uintptr(handle))
		delete(fake.handles, uintptr(handle))
		return c
	})
}

//export fake_cuGraphLaunch
func fake_cuGraphLaunch(exec, handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code {
		x, c := lookup[*executable](fake, uintptr(exec))
		if c != success {
			return c
		}
		schedule := fake.schedule
		return fake.issue(s, position{}, func() error { return x.run(schedule) })
	})
}

//export fake_cuGraphExecDestroy
func fake_cuGraphExecDestroy(exec C.h5_handle) code {
	return in(func(*gpu) code {
		_, c := lookup[*executable](fake, uintptr(exec))
		delete(fake.handles, uintptr(exec))
		return c
	})
}

//export fake_cuStreamGetCaptureInfo_v2
func fake_cuStreamGetCaptureInfo_v2(handle C.h5_handle, status *C.int, id *C.uint64_t, graph *C.h5_handle, nodes **C.h5_handle, count *C.size_t) code {
	return on(handle, func(g *gpu, s *stream) code {
		*status, *count = 0, 0
		if s.capture == nil {
			return success
		}
		*status, *count = 1, C.size_t(len(s.dependencies))
		*nodes = C.h5_handles(*count)
		for i := range unsafe.Slice(*nodes, len(s.dependencies)) {
			unsafe.Slice(*nodes, len(s.dependencies))[i] = C.h5_handle(s.dependencies[i] + 1)
		}
		return success
	})
}

//export fake_cuStreamUpdateCaptureDependencies
func fake_cuStreamUpdateCaptureDependencies(handle C.h5_handle, nodes *C.h5_handle, count C.size_t, flags C.uint) code {
	return on(handle, func(g *gpu, s *stream) code {
		if s.capture == nil {
			return invalidValue
		}
		front := s.dependencies
		if flags == C.H5_CAPTURE_SET {
			front = nil
		}
		for _, node := range unsafe.Slice(nodes, int(count)) {
			if node == 0 || int(node) > len(s.capture.nodes) {
				return invalidValue
			}
			front = append(slices.Clip(front), int(node)-1)
		}
		s.dependencies = front
		return success
	})
}
