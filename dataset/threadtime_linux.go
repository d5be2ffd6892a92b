package dataset

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time of the calling thread, to which other work of
// the machine adds little.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
