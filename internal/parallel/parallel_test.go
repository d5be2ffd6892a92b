package parallel

import (
	"errors"
	"fmt"
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

// TestDoReturnsTheFirstFailure lets the second call fail while the first, which will fail, goes
// on.
func TestDoReturnsTheFirstFailure(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	failed := make(chan bool)
	err := Do(2, 2, func(k int) error {
		if k == 1 {
			defer close(failed)
			return second
		}
		<-failed
		return first
	})
	if err != first {
		t.Errorf("got the error %v, want %v", err, first)
	}
	for range 100 {
		if err := Do(8, 4, func(k int) error { return fmt.Errorf("%d", k) }); err.Error() != "0" {
			t.Fatalf("got the error of call %v, want that of call 0", err)
		}
	}
}
