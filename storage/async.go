package storage

import "time"

// An AsyncDevice is a Device that copies from host memory while it computes, so
// that the next batch can be uploaded while the current one is worked on.
type AsyncDevice interface {
	Device
	// AllocPinned returns page-locked host memory, from which copies are asynchronous.
	AllocPinned(size int) (Host, error)
	// ComputeStream is the stream of kernels, Upload, Download and Alloc. Memory
	// that Alloc returns may still be in use until this stream comes to the
	// allocation, so another stream waits for it before it writes there.
	ComputeStream() Stream
	// OpenStream returns a stream beside it, OpenEvent an event that nothing precedes yet.
	// An event that is not timed is cheaper; it has no Since.
	OpenStream() (Stream, error)
	OpenEvent(timed bool) (Event, error)
	// FreeMemory returns how many bytes of the device's memory are free.
	FreeMemory() (int, error)
}

// A Stream is work that a device does in the order in which it was issued, as in
// CUDA. Its methods do not wait.
type Stream interface {
	// Upload copies the first n bytes of src, which comes from AllocPinned, to dst
	// from offset on. Until that is done src must not change, and both must be kept.
	Upload(dst Storage, offset int, src Host, n int) error
	// Record makes e stand for all work issued to the stream so far.
	Record(e Event) error
	// WaitEvent makes all work issued from now on wait for the work that e stands for.
	WaitEvent(e Event) error
	Close() error // once all work is done
}

// An Event marks a point in a stream. Before it is first recorded, nothing precedes it.
type Event interface {
	Wait() error // for all work before the event; any goroutine may call it
	// Since returns the time between another event of the device and this one, and
	// false if the device has not reached both. Both are timed.
	Since(earlier Event) (time.Duration, bool, error)
	Close() error
}
