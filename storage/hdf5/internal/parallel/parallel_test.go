package parallel

import (
	"errors"
	"sync/atomic"
	"testing"
)

func TestDoCallsEachJobOnce(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7} {
		var calls [100]atomic.Int32
		if err := Do(len(calls), workers, func(k int) error { calls[k].Add(1); return nil }); err != nil {
			t.Fatal(err)
		}
		for k := range calls {
			if n := calls[k].Load(); n != 1 {
				t.Errorf("%d workers: job %d was called %d times", workers, k, n)
			}
		}
	}
}

func TestDoStopsAfterAFailure(t *testing.T) {
	failure := errors.New("failure")
	for _, workers := range []int{1, 3} {
		var calls atomic.Int32
		err := Do(1000000, workers, func(k int) error {
			calls.Add(1)
			return failure
		})
		if !errors.Is(err, failure) || int(calls.Load()) > workers {
			t.Errorf("%d workers: error %v after %d calls", workers, err, calls.Load())
		}
	}
}
