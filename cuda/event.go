package cuda

// #include "calls.h"
import "C"

import "time"

// An Event marks a point in a stream that other streams and the host can wait for.
type Event struct {
	device *Device
	handle C.h5_handle
}

// NewEvent returns an event without timing, not recorded yet. Close it after use.
func (d *Device) NewEvent() (*Event, error) { return d.newEvent(0) }

// NewTimer returns an event that also records the time at which it completed.
func (d *Device) NewTimer() (*Event, error) { return d.newEvent(1) }

func (d *Device) newEvent(timed C.int) (*Event, error) {
	e := &Event{device: d}
	return e, d.check("create an event", C.h5_event(d.context, &e.handle, timed))
}

// Close destroys the event.
func (e *Event) Close() error {
	return e.device.check("destroy an event", C.h5_event_destroy(e.device.context, e.handle))
}

// Record records the event behind all work issued to s so far. Waits that were issued
// before keep referring to the previous record.
func (e *Event) Record(s *Stream) error {
	return e.device.check("record an event", C.h5_event_record(e.device.context, e.handle, s.handle))
}

// Done reports whether all work before the event has completed.
func (e *Event) Done() (bool, error) {
	err := e.device.check("query an event", C.h5_event_query(e.device.context, e.handle))
	if isCode(err, notReady) {
		return false, nil
	}
	return err == nil, err
}

// Wait blocks until all work before the event has completed.
func (e *Event) Wait() error {
	return e.device.check("wait for an event", C.h5_event_sync(e.device.context, e.handle))
}

// Since returns the time elapsed since an earlier timer; both must have completed.
func (e *Event) Since(earlier *Event) (time.Duration, error) {
	var ms C.float
	err := e.device.check("compute the time between events", C.h5_event_elapsed(e.device.context, &ms, earlier.handle, e.handle))
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}
