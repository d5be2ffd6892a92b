package cuda

// #include "calls.h"
import "C"

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var _ storage.Peer = (*Device)(nil)

// peers are the devices that have access to a device's memory.
type peers struct {
	mu  sync.Mutex
	all map[*Device]bool
}

// CopyFrom copies between arrays of this GPU, or from a GPU with peer access. The copy
// runs after all work issued to either device before, and before all work issued later.
// Strided arrays are made contiguous by a kernel on their own device.
func (d *Device) CopyFrom(dst, src storage.Array) (bool, error) {
	there, ok := src.Data.Device().(*Device)
	if !ok {
		return false, nil
	}
	if there != d {
		if reached, err := d.enablePeerAccess(there); !reached {
			return false, err
		}
	} else if !dst.Contiguous() || !src.Contiguous() {
		return true, d.copyStrided(dst, src)
	}
	return true, there.withContiguous(src, func(from storage.Array) error {
		return d.intoContiguous(dst, func(to storage.Array) error { return d.copyContiguous(to, from) })
	})
}

// copyStrided copies between arrays of d of any layout, by a kernel.
func (d *Device) copyStrided(dst, src storage.Array) error {
	return d.Run(kernels.Copy, &kernels.Call{Out: []storage.Array{dst}, In: []storage.Array{src}})
}

// withContiguous calls use with a contiguous array of a's elements: a itself, or a copy
// that is valid for the work that use issues.
func (d *Device) withContiguous(a storage.Array, use func(storage.Array) error) error {
	return d.withContiguousMemory(a, func(dense storage.Array) error {
		if dense.Data != a.Data {
			if err := d.copyStrided(dense, a); err != nil {
				return err
			}
		}
		return use(dense)
	})
}

// intoContiguous calls use with a contiguous array to write, whose elements then become a's.
func (d *Device) intoContiguous(a storage.Array, use func(storage.Array) error) error {
	return d.withContiguousMemory(a, func(dense storage.Array) error {
		if err := use(dense); err != nil || dense.Data == a.Data {
			return err
		}
		return d.copyStrided(a, dense)
	})
}

// withContiguousMemory calls use with a if it is contiguous, else with workspace memory.
func (d *Device) withContiguousMemory(a storage.Array, use func(storage.Array) error) error {
	if a.Contiguous() {
		return use(a)
	}
	bytes := a.NBytes()
	return d.Workspace(bytes, func(address uint64) error {
		return use(storage.Array{Data: d.UnownedMemory(address, bytes), Type: a.Type, View: views.Of(a.Shape...)})
	})
}

// copyContiguous copies contiguous arrays, from this GPU or from a peer.
func (d *Device) copyContiguous(dst, src storage.Array) error {
	size := src.Type.Size()
	there, n := src.Data.Device().(*Device), src.Len()*size
	into, err := d.memoryRange("copy to", dst.Data, dst.Offset*size, n)
	if err != nil {
		return err
	}
	from, err := there.memoryRange("copy from", src.Data, src.Offset*size, n)
	if err != nil || n == 0 {
		return err
	}
	defer runtime.KeepAlive(into)
	defer runtime.KeepAlive(from)
	a, b := C.h5_address(into.address+uint64(dst.Offset*size)), C.h5_address(from.address+uint64(src.Offset*size))
	d.count("move", "", n)
	if there == d {
		return d.check("copy", C.h5_copy(d.context, a, b, C.size_t(n), d.stream.handle))
	}
	if err := d.stream.waitStream(there.stream); err != nil {
		return err
	}
	if err := d.check("copy from "+there.String(), C.h5_peer_copy(d.context, a, there.context, b, C.size_t(n), d.stream.handle)); err != nil {
		return err
	}
	return there.stream.waitStream(d.stream)
}

// enablePeerAccess gives d and another device access to each other's memory, if the
// hardware can.
func (d *Device) enablePeerAccess(other *Device) (bool, error) {
	for _, pair := range [2][2]*Device{{d, other}, {other, d}} {
		if ok, err := pair[0].allowAccess(pair[1]); !ok {
			return false, err
		}
	}
	return true, nil
}

// allowAccess gives peer access to d's memory, if the hardware can and the memory is a pool's.
func (d *Device) allowAccess(peer *Device) (bool, error) {
	if d.pool == 0 {
		return false, nil
	}
	var can C.int
	if err := d.check("query peer access", C.h5_can_access_peer(&can, peer.handle, d.handle)); err != nil || can == 0 {
		return false, err
	}
	d.peers.mu.Lock()
	defer d.peers.mu.Unlock()
	if d.peers.all[peer] {
		return true, nil
	}
	if err := d.check(fmt.Sprintf("allow access by %v", peer), C.h5_pool_set_access(d.context, d.pool, peer.handle)); err != nil {
		return false, err
	}
	d.peers.all[peer] = true
	return true, nil
}
