package storage

import "errors"

// Kinds of error, for errors.Is. Shapes and types belong to packages views and
// dtype; these are about where an array lives and what became of it.
var (
	ErrDevice = errors.New("wrong device")
	ErrMemory = errors.New("out of memory") // of a device
	ErrState  = errors.New("wrong state")   // not built, closed, or changed since
)
