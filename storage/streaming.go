package storage

import "time"

// Streaming is a Device that can copy from host memory while it computes, so
// that the next batch is on its way while this one is worked on.
type Streaming interface {
	Device
	// Pinned returns host memory that the device copies from by itself.
	Pinned(size int) (Host, error)
	// Work is the queue of all that the device is asked for in any other way:
	// kernels, Upload, Download, and Alloc: until it comes to that, memory may
	// still be someone else's, so another queue waits for it first. NewQueue
	// returns one beside it.
	Work() Queue
	NewQueue() (Queue, error)
	NewMark() (Mark, error)
	// Available returns how many bytes of the device's memory are free.
	Available() (int, error)
}

// A Queue is what a device does one after another. Its methods do not wait.
type Queue interface {
	// Upload copies the first n bytes of src, which is Pinned, to dst from offset
	// on. Until that is done src must not change, and both must be kept.
	Upload(dst Storage, offset int, src Host, n int) error
	// Mark moves m behind all that the queue was asked for so far.
	Mark(m Mark) error
	// After makes all that the queue is asked for from now on wait for where m is now.
	After(m Mark) error
	Close() error // once all is done
}

// A Mark is a place in a queue; at first it is in front of everything.
type Mark interface {
	Wait() error // for all that is before where m is now; it may be called by any goroutine
	// Since returns how much later the device came here than to another mark of
	// its own, and false if it has not come to both.
	Since(earlier Mark) (time.Duration, bool, error)
	Close() error
}
