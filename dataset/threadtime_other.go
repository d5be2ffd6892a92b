//go:build !linux

package dataset

import "time"

var start = time.Now()

// threadTime returns the time since the program began, where that of a thread is unknown.
func threadTime() time.Duration { return time.Since(start) }
