package storage

import "errors"

// Kinds of error, for errors.Is. Shapes and types belong to packages views and
// dtype; these two are about where an array lives and what became of it.
var (
	ErrDevice = errors.New("wrong device")
	ErrState  = errors.New("wrong state") // not built, closed, or changed since
)
