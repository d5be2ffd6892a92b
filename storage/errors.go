package storage

import "errors"

// Kinds of error, for errors.Is, in addition to [views.ErrShape] and [dtype.ErrType].
var (
	ErrDevice = errors.New("wrong device")
	ErrMemory = errors.New("out of memory") // of a device
	ErrState  = errors.New("wrong state")   // not built, closed, or changed since
)
