package cuda

// #include "calls.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
)

// A Stream is a queue of work on a device, which runs in the order of issue.
type Stream struct {
	device *Device
	handle C.h5_handle
}

// NewStream returns a stream that runs concurrently with the device's own. Close it.
func (d *Device) NewStream() (*Stream, error) {
	s := &Stream{device: d}
	return s, d.check("create a stream", C.h5_stream(d.context, &s.handle))
}

// Close destroys the stream once its work is done.
func (s *Stream) Close() error {
	return s.device.check("destroy a stream", C.h5_stream_destroy(s.device.context, s.handle))
}

// Sync waits for all work issued to s.
func (s *Stream) Sync() error {
	return s.device.check("wait", C.h5_stream_sync(s.device.context, s.handle))
}

// WaitEvent makes all work issued to s from now on wait for e.
func (s *Stream) WaitEvent(e *Event) error {
	return s.device.check("wait for an event", C.h5_stream_wait_event(s.device.context, s.handle, e.handle))
}

// waitStream makes s wait for all work issued to other so far.
func (s *Stream) waitStream(other *Stream) error {
	e, err := other.device.NewEvent()
	if err != nil {
		return err
	}
	return errors.Join(e.Record(other), s.WaitEvent(e), e.Close())
}

// Upload copies the first bytes of src to dst at offset, asynchronously: until the copy is
// done, src must not change and both must be kept reachable.
func (s *Stream) Upload(dst storage.Storage, offset int, src *Pinned, bytes int) error {
	m, err := s.device.memoryRange("upload to", dst, offset, bytes)
	if err != nil || bytes == 0 {
		return err
	}
	if err := storage.CheckRange(src, 0, bytes); err != nil {
		return fmt.Errorf("upload to %v: %w", s.device, err)
	}
	s.device.retain(src)
	s.device.count("upload", "", bytes)
	defer runtime.KeepAlive(src)
	return s.device.upload(s, m.address+uint64(offset), src.bytes[:bytes])
}

// Download copies bytes of src at offset to the beginning of dst, asynchronously.
func (s *Stream) Download(dst *Pinned, src storage.Storage, offset, bytes int) error {
	m, err := s.device.memoryRange("download from", src, offset, bytes)
	if err != nil || bytes == 0 {
		return err
	}
	if err := storage.CheckRange(dst, 0, bytes); err != nil {
		return fmt.Errorf("download from %v: %w", s.device, err)
	}
	s.device.retain(dst)
	s.device.count("download", "", bytes)
	code := C.h5_download(s.device.context, unsafe.Pointer(&dst.bytes[0]), C.h5_address(m.address+uint64(offset)), C.size_t(bytes), s.handle)
	runtime.KeepAlive(dst)
	return s.device.check("download", code)
}
