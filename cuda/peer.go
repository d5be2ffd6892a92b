package cuda

// #include "calls.h"
import "C"

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/h5dnn/h5dnn/storage"
)

var _ storage.Peer = (*Device)(nil)

// peers are the devices that may touch a device's memory.
type peers struct {
	mu  sync.Mutex
	all map[*Device]bool
}

// CopyFrom copies memory of this GPU, or of another that this one can reach. The
// copy comes after all that was issued to either, and what is issued to either
// later comes after it.
func (d *Device) CopyFrom(dst storage.Storage, to int, src storage.Storage, from, n int) (bool, error) {
	there, ok := src.(*memory)
	if !ok {
		return false, nil
	}
	into, err := d.stretch("copy to", dst, to, n)
	if err != nil {
		return false, err
	}
	if _, err := there.device.stretch("copy from", src, from, n); err != nil || n == 0 {
		return err == nil, err
	}
	defer runtime.KeepAlive(into)
	defer runtime.KeepAlive(there)
	a, b := C.h5_address(into.address+uint64(to)), C.h5_address(there.address+uint64(from))
	if there.device == d {
		d.note("move", "", n)
		return true, d.check("copy", C.h5_move(d.context, a, b, C.size_t(n), d.stream.handle))
	}
	if reached, err := d.reach(there.device); !reached {
		return false, err
	}
	d.note("move", "", n)
	if err := d.stream.follow(there.device.stream); err != nil {
		return false, err
	}
	code := C.h5_fetch(d.context, a, there.device.context, b, C.size_t(n), d.stream.handle)
	if err := d.check("copy from "+there.device.String(), code); err != nil {
		return false, err
	}
	return true, there.device.stream.follow(d.stream)
}

// reach lets d and another device touch each other's memory, if they can.
func (d *Device) reach(other *Device) (bool, error) {
	for _, pair := range [2][2]*Device{{d, other}, {other, d}} {
		if ok, err := pair[0].share(pair[1]); !ok {
			return false, err
		}
	}
	return true, nil
}

// share lets peer touch d's memory, if it can.
func (d *Device) share(peer *Device) (bool, error) {
	var can C.int
	if err := d.check("ask who reaches it", C.h5_reaches(&can, peer.handle, d.handle)); err != nil || can == 0 {
		return false, err
	}
	d.peers.mu.Lock()
	defer d.peers.mu.Unlock()
	if d.peers.all[peer] {
		return true, nil
	}
	if err := d.check(fmt.Sprintf("share memory with %v", peer), C.h5_share(d.context, d.pool, peer.handle)); err != nil {
		return false, err
	}
	d.peers.all[peer] = true
	return true, nil
}
