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

// A Stream is work of a device, done in the order in which it was issued.
type Stream struct {
	device *Device
	handle C.h5_handle
}

// NewStream returns a stream that runs beside the device's own. Close it.
func (d *Device) NewStream() (*Stream, error) {
	s := &Stream{device: d}
	return s, d.check("make a stream", C.h5_stream(d.context, &s.handle))
}

// Close ends the stream once its work is done.
func (s *Stream) Close() error {
	return s.device.check("close a stream", C.h5_stream_destroy(s.device.context, s.handle))
}

// Sync waits for all work issued to s.
func (s *Stream) Sync() error {
	return s.device.check("wait", C.h5_stream_sync(s.device.context, s.handle))
}

// After makes all work that is issued to s from now on wait for e.
func (s *Stream) WaitEvent(e *Event) error {
	return s.device.check("wait for an event", C.h5_stream_wait_event(s.device.context, s.handle, e.handle))
}

// follow is After for all that other was given so far.
func (s *Stream) waitStream(other *Stream) error {
	e, err := other.device.NewEvent()
	if err != nil {
		return err
	}
	return errors.Join(e.Record(other), s.WaitEvent(e), e.Close())
}

// Upload copies the first bytes of src to dst, from offset on. It returns before
// that is done: until then, src must not change and both must be kept.
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

// Download copies bytes of src, from offset on, to the beginning of dst, as Upload does.
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
