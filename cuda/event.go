package cuda

// #include "calls.h"
import "C"

import "time"

// An Event is a place in a stream that others can wait for.
type Event struct {
	device *Device
	handle C.h5_handle
}

// NewEvent returns an event that nothing waits for yet. Close it.
func (d *Device) NewEvent() (*Event, error) { return d.newEvent(0) }

// NewTimer returns an event that also keeps the time at which it happened.
func (d *Device) NewTimer() (*Event, error) { return d.newEvent(1) }

func (d *Device) newEvent(timed C.int) (*Event, error) {
	e := &Event{device: d}
	return e, d.check("make an event", C.h5_event(d.context, &e.handle, timed))
}

// Close frees the event.
func (e *Event) Close() error {
	return e.device.check("close an event", C.h5_event_destroy(e.device.context, e.handle))
}

// Record moves the event behind all work that has been issued to s. Who waited
// for its old place still does.
func (e *Event) Record(s *Stream) error {
	return e.device.check("record an event", C.h5_event_record(e.device.context, e.handle, s.handle))
}

// Done reports whether the work before the event is done.
func (e *Event) Done() (bool, error) {
	err := e.device.check("ask for an event", C.h5_event_query(e.device.context, e.handle))
	if isCode(err, notReady) {
		return false, nil
	}
	return err == nil, err
}

// Wait waits for the work before the event.
func (e *Event) Wait() error {
	return e.device.check("wait for an event", C.h5_event_sync(e.device.context, e.handle))
}

// Since returns the time that passed from an earlier timer, both having happened.
func (e *Event) Since(earlier *Event) (time.Duration, error) {
	var ms C.float
	err := e.device.check("compare events", C.h5_event_elapsed(e.device.context, &ms, earlier.handle, e.handle))
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}
