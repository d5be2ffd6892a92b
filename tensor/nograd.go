package tensor

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/kernels"
)

// NoGrad runs f, whose expressions are not recorded: their results are constants, and leaves may be
// written to in place. It is for this goroutine, not for others that f starts.
func NoGrad(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := kernels.ThisThread()
	if _, nested := quietThreads.LoadOrStore(thread, true); !nested {
		quiet.Add(1)
		defer func() {
			quietThreads.Delete(thread)
			quiet.Add(-1)
		}()
	}
	f()
}

// quietThreads are those that run NoGrad, each locked to its goroutine; quiet is their number.
var (
	quietThreads sync.Map
	quiet        atomic.Int32
)

// inNoGrad reports whether the goroutine runs NoGrad.
func inNoGrad() bool {
	if quiet.Load() == 0 {
		return false
	}
	_, here := quietThreads.Load(kernels.ThisThread())
	return here
}
