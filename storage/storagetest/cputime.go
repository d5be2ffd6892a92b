package storagetest

import (
	"syscall"
	"testing"
	"time"
)

// CPUTime returns the processor time that all threads of the process have used. Unlike the
// time that passes, it does not grow while other programs keep the processors.
func CPUTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
