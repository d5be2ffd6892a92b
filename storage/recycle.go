package storage

import "fmt"

// Recyclable is a Storage whose memory can pass to another Storage. A [Pool]
// recycles what is put back, so that arrays of an earlier step cannot show the
// numbers of a later one.
type Recyclable interface {
	Storage
	// Recycle returns a new Storage for the same memory. The old one is not to be
	// used any more.
	Recycle() Storage
	// Recycled reports whether Recycle was called. It is safe for use by several goroutines.
	Recycled() bool
}

// CheckAlive returns an error of kind [ErrState] if s was recycled.
func CheckAlive(s Storage) error {
	if r, ok := s.(Recyclable); ok && r.Recycled() {
		return fmt.Errorf("memory on %v of a step that has ended, or that was put back in a pool; copy results within the step: %w", s.Device(), ErrState)
	}
	return nil
}
