package cuda

// #include "calls.h"
import "C"

import (
	"sync"
	"unsafe"
)

// staging is a ring of pinned buffers that uploads pass through, so that an upload
// returns without waiting for the device unless all buffers are in flight. The driver's
// own copy of memory that is not pinned may wait for the stream.
type staging struct {
	mu      sync.Mutex
	buffers [stagingSlots]stagingBuffer
	next    int // the buffer that is being filled
}

const (
	stagingSlots = 4
	stagingBytes = 2 << 20 // of each
)

// A stagingBuffer holds one or several uploads until they have completed.
type stagingBuffer struct {
	memory *Pinned // nil before its first use
	done   *Event
	used   int
}

// upload copies src to an address of d.
func (g *staging) upload(d *Device, address uint64, src []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(src) > 0 {
		s, err := g.freeBuffer(d)
		if err != nil {
			return err
		}
		n := copy(s.memory.bytes[s.used:], src)
		if err := d.upload(d.stream, address, s.memory.bytes[s.used:][:n]); err != nil {
			return err
		}
		s.used += (n + 63) &^ 63 // cache lines
		address, src = address+uint64(n), src[n:]
	}
	return nil
}

// freeBuffer returns a buffer that has free space.
func (g *staging) freeBuffer(d *Device) (*stagingBuffer, error) {
	s := &g.buffers[g.next]
	if s.memory == nil {
		return s, s.make(d)
	}
	if s.used < stagingBytes {
		return s, nil
	}
	if err := s.done.Record(d.stream); err != nil {
		return nil, err
	}
	g.next = (g.next + 1) % stagingSlots
	s = &g.buffers[g.next]
	if s.memory == nil {
		return s, s.make(d)
	}
	if err := s.done.Wait(); err != nil {
		return nil, err
	}
	s.used = 0
	return s, nil
}

func (s *stagingBuffer) make(d *Device) error {
	memory, err := d.pin(stagingBytes)
	if err != nil {
		return err
	}
	if s.done, err = d.NewEvent(); err == nil {
		s.memory = memory
	}
	return err
}

// upload issues a copy of pinned memory to a stream.
func (d *Device) upload(s *Stream, address uint64, src []byte) error {
	return d.check("upload", C.h5_upload(d.context, C.h5_address(address), unsafe.Pointer(&src[0]), C.size_t(len(src)), s.handle))
}
