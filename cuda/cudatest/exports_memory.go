package cudatest

// #include <stdlib.h>
// #include "table.h"
import "C"

import (
	"slices"
	"unsafe"
)

//export fake_cuMemGetInfo_v2
func fake_cuMemGetInfo_v2(free, total *C.size_t) code {
	return in(func(g *gpu) code {
		*free, *total = C.size_t(g.capacity-g.reserved), C.size_t(g.capacity)
		return success
	})
}

//export fake_cuMemPoolCreate
func fake_cuMemPoolCreate(handle *C.h5_handle, props *C.h5_pool_props) code {
	return in(func(g *gpu) code {
		if props.allocation != C.H5_POOL_PINNED || props.location != C.H5_POOL_LOCATION_DEVICE || int(props.device) != g.index {
			return invalidValue
		}
		*handle = C.h5_handle(fake.add(&pool{gpu: g}))
		return success
	})
}

//export fake_cuMemPoolSetAttribute
func fake_cuMemPoolSetAttribute(handle C.h5_handle, attribute C.int, _ unsafe.Pointer) code {
	return in(func(*gpu) code {
		if attribute != C.H5_POOL_RELEASE_THRESHOLD {
			return invalidValue
		}
		_, c := lookup[*pool](fake, uintptr(handle))
		return c
	})
}

//export fake_cuMemPoolSetAccess
func fake_cuMemPoolSetAccess(handle C.h5_handle, access *C.h5_pool_access, count C.size_t) code {
	return in(func(g *gpu) code {
		p, c := lookup[*pool](fake, uintptr(handle))
		if c != success {
			return c
		}
		if count != 1 || access.location != C.H5_POOL_LOCATION_DEVICE || access.access != C.H5_POOL_READWRITE || fake.noPeerAccess {
			return invalidValue
		}
		p.peer = fake.gpus[access.device]
		return success
	})
}

//export fake_cuMemPoolTrimTo
func fake_cuMemPoolTrimTo(handle C.h5_handle, keep C.size_t) code {
	return in(func(g *gpu) code {
		_, c := lookup[*pool](fake, uintptr(handle))
		if c == success {
			g.reserved = min(g.reserved, max(g.used, int(keep)))
		}
		return c
	})
}

// fake_cuMemAllocFromPoolAsync: memory from a pool belongs to its previous owner until the stream reaches the
// allocation: what other streams write before that is lost.
//
//export fake_cuMemAllocFromPoolAsync
func fake_cuMemAllocFromPoolAsync(at *C.h5_address, bytes C.size_t, from, handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code {
		p, c := lookup[*pool](fake, uintptr(from))
		switch {
		case c != success:
			return c
		case g.capturing():
			return g.invalidateCaptures()
		case p.gpu != g || bytes == 0:
			return invalidValue
		case int(bytes) > g.capacity-g.used:
			return outOfMemory
		}
		address := g.memory.Alloc(int(bytes))
		g.used += int(bytes)
		g.reserved = max(g.reserved, g.used)
		g.blocks[address] = allocation{int(bytes), p}
		*at = C.h5_address(address)
		if fake.schedule == Eager {
			return success
		}
		return fake.issue(s, position{}, func() error { return g.memory.Poison(address) })
	})
}

//export fake_cuMemFreeAsync
func fake_cuMemFreeAsync(at C.h5_address, handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code {
		block, ok := g.blocks[uint64(at)]
		switch {
		case !ok || block.pool == nil:
			return invalidValue
		case g.capturing():
			return g.invalidateCaptures()
		}
		delete(g.blocks, uint64(at))
		g.used -= block.size
		return fake.issue(s, position{}, func() error { return g.memory.Free(uint64(at)) })
	})
}

// fake_cuMemAlloc_v2: memory that belongs to no pool is there at once.
//
//export fake_cuMemAlloc_v2
func fake_cuMemAlloc_v2(at *C.h5_address, bytes C.size_t) code {
	return in(func(g *gpu) code {
		switch {
		case g.capturing():
			return g.invalidateCaptures()
		case bytes == 0:
			return invalidValue
		case int(bytes) > g.capacity-g.used:
			return outOfMemory
		}
		address := g.memory.Alloc(int(bytes))
		g.used += int(bytes)
		g.reserved = max(g.reserved, g.used)
		g.blocks[address] = allocation{size: int(bytes)}
		*at = C.h5_address(address)
		return success
	})
}

// fake_cuMemFree_v2: memory that belongs to no pool is gone at once, whether or not queued work uses it.
//
//export fake_cuMemFree_v2
func fake_cuMemFree_v2(at C.h5_address) code {
	return in(func(g *gpu) code {
		block, ok := g.blocks[uint64(at)]
		switch {
		case !ok || block.pool != nil:
			return invalidValue
		case g.capturing():
			return g.invalidateCaptures()
		}
		delete(g.blocks, uint64(at))
		g.used -= block.size
		g.reserved -= block.size
		g.fail(g.memory.Free(uint64(at)))
		return success
	})
}

//export fake_cuMemHostAlloc
func fake_cuMemHostAlloc(at *unsafe.Pointer, bytes C.size_t, _ C.uint) code {
	return in(func(*gpu) code {
		*at = C.malloc(bytes)
		fake.pinned[uintptr(*at)] = int(bytes)
		return success
	})
}

//export fake_cuMemFreeHost
func fake_cuMemFreeHost(at unsafe.Pointer) code {
	return in(func(*gpu) code {
		if _, ok := fake.pinned[uintptr(at)]; !ok {
			return invalidValue
		}
		fake.waitAll()
		delete(fake.pinned, uintptr(at))
		C.free(at)
		return success
	})
}

// fake_cuMemcpyHtoDAsync_v2: pinned memory is read when the copy is done; other memory now, into a buffer.
//
//export fake_cuMemcpyHtoDAsync_v2
func fake_cuMemcpyHtoDAsync_v2(to C.h5_address, from unsafe.Pointer, bytes C.size_t, handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code {
		if _, err := g.memory.Bytes(uint64(to), int(bytes)); err != nil {
			return invalidValue
		}
		src := unsafe.Slice((*byte)(from), bytes)
		if !fake.isPinned(uintptr(from), int(bytes)) {
			if s.capture != nil {
				return g.invalidateCaptures()
			}
			src = slices.Clone(src)
		}
		return fake.issue(s, position{}, func() error {
			dst, err := g.memory.Bytes(uint64(to), int(bytes))
			copy(dst, src)
			return err
		})
	})
}

// fake_cuMemcpyDtoHAsync_v2: pinned memory is written when the copy is done; other memory before the call returns.
//
//export fake_cuMemcpyDtoHAsync_v2
func fake_cuMemcpyDtoHAsync_v2(to unsafe.Pointer, from C.h5_address, bytes C.size_t, handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code {
		if _, err := g.memory.Bytes(uint64(from), int(bytes)); err != nil {
			return invalidValue
		}
		pinned := fake.isPinned(uintptr(to), int(bytes))
		if !pinned && s.capture != nil {
			return g.invalidateCaptures()
		}
		c := fake.issue(s, position{}, func() error {
			src, err := g.memory.Bytes(uint64(from), int(bytes))
			copy(unsafe.Slice((*byte)(to), bytes), src)
			return err
		})
		if !pinned && c == success {
			fake.await(s.end())
		}
		return c
	})
}

//export fake_cuMemcpyDtoDAsync_v2
func fake_cuMemcpyDtoDAsync_v2(to, from C.h5_address, bytes C.size_t, handle C.h5_handle) code {
	return on(handle, func(g *gpu, s *stream) code { return fake.move(s, g, uint64(to), g, uint64(from), int(bytes)) })
}

//export fake_cuMemcpyPeerAsync
func fake_cuMemcpyPeerAsync(to C.h5_address, there C.h5_handle, from C.h5_address, here C.h5_handle, bytes C.size_t, handle C.h5_handle) code {
	return on(handle, func(_ *gpu, s *stream) code {
		if max(there, here) > C.h5_handle(len(fake.gpus)) || min(there, here) < 1 {
			return invalidContext
		}
		dst, src := fake.gpus[there-1], fake.gpus[here-1]
		if !dst.peerAccessible(uint64(to), src) || !src.peerAccessible(uint64(from), dst) {
			return invalidValue
		}
		return fake.move(s, dst, uint64(to), src, uint64(from), int(bytes))
	})
}

// move copies between gpus, or within one, where the two must not overlap.
func (d *driver) move(s *stream, dst *gpu, to uint64, src *gpu, from uint64, bytes int) code {
	run := func() error {
		b, err := dst.memory.Bytes(to, bytes)
		if err != nil {
			return err
		}
		a, err := src.memory.Bytes(from, bytes)
		copy(b, a)
		return err
	}
	if dst == src && to < from+uint64(bytes) && from < to+uint64(bytes) {
		return invalidValue
	}
	for _, end := range []struct {
		*gpu
		at uint64
	}{{dst, to}, {src, from}} {
		if _, err := end.memory.Bytes(end.at, bytes); err != nil {
			return invalidValue
		}
	}
	return d.issue(s, position{}, run)
}
