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
func (d *Device) ComputeStream() storage.Stream { return queue{d.stream} }

// OpenStream is NewStream, for [storage.AsyncDevice].
func (d *Device) OpenStream() (storage.Stream, error) {
	s, err := d.NewStream()
	return queue{s}, err
}

// OpenEvent returns a timer that nothing waits for yet. Close it.
func (d *Device) OpenEvent() (storage.Event, error) {
	e, err := d.NewTimer()
	return mark{e}, err
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

type queue struct{ stream *Stream }

func (q queue) Upload(dst storage.Storage, offset int, src storage.Host, n int) error {
	p, ok := src.(*Pinned)
	if !ok {
		return fmt.Errorf("upload to %v: of host memory that is not pinned: %w", q.stream.device, storage.ErrDevice)
	}
	return q.stream.Upload(dst, offset, p, n)
}

func (q queue) Record(m storage.Event) error {
	return q.of(m, func(e *Event) error { return e.Record(q.stream) })
}

func (q queue) WaitEvent(m storage.Event) error { return q.of(m, q.stream.WaitEvent) }

func (q queue) of(m storage.Event, do func(*Event) error) error {
	e, err := q.stream.device.marked(m)
	if err != nil {
		return err
	}
	return do(e)
}

func (q queue) Close() error { return q.stream.Close() }

type mark struct{ *Event }

// marked returns the event that a mark of d is.
func (d *Device) marked(m storage.Event) (*Event, error) {
	e, ok := m.(mark)
	if !ok || e.device != d {
		return nil, fmt.Errorf("%v: a mark of another device: %w", d, storage.ErrDevice)
	}
	return e.Event, nil
}

func (m mark) Since(earlier storage.Event) (time.Duration, bool, error) {
	e, err := m.device.marked(earlier)
	if err != nil {
		return 0, false, err
	}
	passed, err := m.Event.Since(e)
	if isCode(err, notReady) {
		return 0, false, nil
	}
	return passed, err == nil, err
}
