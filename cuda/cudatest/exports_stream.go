package cudatest

// #include "table.h"
import "C"

//export fake_cuStreamCreate
func fake_cuStreamCreate(handle *C.h5_handle, flags C.uint) code {
	return in(func(g *gpu) code {
		if flags != C.H5_STREAM_NON_BLOCKING {
			return invalidValue
		}
		s := &stream{gpu: g}
		g.streams = append(g.streams, s)
		*handle = C.h5_handle(fake.add(s))
		return success
	})
}

//export fake_cuStreamDestroy_v2
func fake_cuStreamDestroy_v2(handle C.h5_handle) code {
	return on(handle, func(*gpu, *stream) code {
		delete(fake.handles, uintptr(handle))
		return success
	})
}

//export fake_cuStreamSynchronize
func fake_cuStreamSynchronize(handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code {
		if s.capture != nil {
			return g.invalidateCaptures()
		}
		fake.await(s.end())
		return success
	})
}

// fake_cuStreamWaitEvent: a wait is for where the event is now, not for where it may move. A stream that
// waits for one in a recording becomes part of that.
//
//export fake_cuStreamWaitEvent
func fake_cuStreamWaitEvent(handle, after C.h5_handle, _ C.uint) code {
	return on(handle, func(g *gpu, s *stream) code {
		e, c := lookup[*event](fake, uintptr(after))
		switch {
		case c != success:
			return c
		case e.captured == nil && s.capture == nil:
			return fake.issue(s, e.position, func() error { return nil })
		case e.captured == nil || e.captured.ended() || s.capture != nil && s.capture != e.captured.recording:
			g.invalidateCaptures()
			return captureIsolation
		}
		e.captured.recording.join(s, e.captured.after)
		return success
	})
}

//export fake_cuEventCreate
func fake_cuEventCreate(handle *C.h5_handle, flags C.uint) code {
	return in(func(*gpu) code {
		*handle = C.h5_handle(fake.add(&event{untimed: flags&C.H5_EVENT_DISABLE_TIMING != 0}))
		return success
	})
}

//export fake_cuEventDestroy_v2
func fake_cuEventDestroy_v2(handle C.h5_handle) code {
	return in(func(*gpu) code {
		_, c := lookup[*event](fake, uintptr(handle))
		delete(fake.handles, uintptr(handle))
		return c
	})
}

//export fake_cuEventRecord
func fake_cuEventRecord(handle, where C.h5_handle) code {
	return on(where, func(g *gpu, s *stream) code {
		e, c := lookup[*event](fake, uintptr(handle))
		switch {
		case c != success:
			return c
		case s.capture != nil:
			e.position, e.captured = position{}, &capturedEventNode{s.capture, s.dependencies}
		case g.capturing():
			return g.invalidateCaptures()
		default:
			e.position, e.captured = s.end(), nil
		}
		return success
	})
}

//export fake_cuEventQuery
func fake_cuEventQuery(handle C.h5_handle) code {
	return in(func(g *gpu) code {
		e, c := lookup[*event](fake, uintptr(handle))
		if c == success && e.captured != nil {
			g.invalidateCaptures()
			return capturedEvent
		}
		if c == success && !e.reached() {
			if fake.schedule == Deferred {
				fake.force(e.position) // who asks again and again must get on
			}
			return notReady
		}
		return c
	})
}

//export fake_cuEventSynchronize
func fake_cuEventSynchronize(handle C.h5_handle) code {
	return in(func(g *gpu) code {
		e, c := lookup[*event](fake, uintptr(handle))
		if c == success && e.captured != nil {
			g.invalidateCaptures()
			return capturedEvent
		}
		if c == success {
			fake.await(e.position)
		}
		return c
	})
}

// fake_cuEventElapsedTime: tasks take no time; a millisecond each will do.
//
//export fake_cuEventElapsedTime
func fake_cuEventElapsedTime(ms *C.float, from, to C.h5_handle) code {
	return in(func(*gpu) code {
		first, c := lookup[*event](fake, uintptr(from))
		if c != success {
			return c
		}
		last, c := lookup[*event](fake, uintptr(to))
		if c == success && (first.untimed || last.untimed) {
			return invalidHandle
		}
		if c == success && !(first.reached() && last.reached()) {
			return notReady
		}
		*ms = C.float(last.since(first.position).Seconds() * 1e3)
		return c
	})
}
