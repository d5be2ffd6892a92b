package cuda

import (
	"fmt"
	"time"

	"github.com/h5dnn/h5dnn/storage"
)

var _ storage.AsyncDevice = (*Device)(nil)

// AllocPinned is Pin, for [storage.AsyncDevice].
func (d *Device) AllocPinned(size int) (storage.Host, error) { return d.Pin(size) }

// ComputeStream returns the stream that kernels and copies of d are issued to.
func (d *Device) ComputeStream() storage.Stream { return asyncStream{d.stream} }

// OpenStream is NewStream, for [storage.AsyncDevice].
func (d *Device) OpenStream() (storage.Stream, error) {
	s, err := d.NewStream()
	return asyncStream{s}, err
}

// OpenEvent is NewTimer or NewEvent, for [storage.AsyncDevice].
func (d *Device) OpenEvent(timed bool) (storage.Event, error) {
	open := d.NewEvent
	if timed {
		open = d.NewTimer
	}
	e, err := open()
	return asyncEvent{e}, err
}

// FreeMemory waits for the device and returns the free bytes of its memory.
func (d *Device) FreeMemory() (int, error) {
	if err := d.ready(); err != nil {
		return 0, err
	}
	if err := d.refuseDuringCapture("query free memory"); err != nil {
		return 0, err
	}
	bytes, _, err := d.trimPool()
	return bytes, err
}

type asyncStream struct{ stream *Stream }

func (s asyncStream) Upload(dst storage.Storage, offset int, src storage.Host, n int) error {
	p, ok := src.(*Pinned)
	if !ok {
		return fmt.Errorf("upload to %v: of host memory that is not pinned: %w", s.stream.device, storage.ErrDevice)
	}
	return s.stream.Upload(dst, offset, p, n)
}

func (s asyncStream) Record(m storage.Event) error {
	return s.of(m, func(e *Event) error { return e.Record(s.stream) })
}

func (s asyncStream) WaitEvent(m storage.Event) error { return s.of(m, s.stream.WaitEvent) }

func (s asyncStream) of(m storage.Event, do func(*Event) error) error {
	e, err := s.stream.device.eventOf(m)
	if err != nil {
		return err
	}
	return do(e)
}

func (s asyncStream) Close() error { return s.stream.Close() }

type asyncEvent struct{ *Event }

// eventOf returns the Event of d that m is.
func (d *Device) eventOf(m storage.Event) (*Event, error) {
	e, ok := m.(asyncEvent)
	if !ok || e.device != d {
		return nil, fmt.Errorf("%v: the event is of another device: %w", d, storage.ErrDevice)
	}
	return e.Event, nil
}

func (m asyncEvent) Since(earlier storage.Event) (time.Duration, bool, error) {
	e, err := m.device.eventOf(earlier)
	if err != nil {
		return 0, false, err
	}
	passed, err := m.Event.Since(e)
	if isCode(err, notReady) {
		return 0, false, nil
	}
	return passed, err == nil, err
}
