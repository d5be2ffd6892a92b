// Package parallel runs independent jobs on several goroutines.
package parallel

import (
	"math"
	"sync"
	"sync/atomic"
)

// Do calls f for 0 to n-1 on the given number of goroutines. After a failure no further
// calls begin, and Do returns an error. With fewer than two workers the calls are made in
// order by the caller's goroutine.
func Do(n, workers int, f func(int) error) error {
	if workers < 2 {
		for k := range n {
			if err := f(k); err != nil {
				return err
			}
		}
		return nil
	}
	var group sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, workers)
	for w := range workers {
		group.Go(func() {
			for k := int(next.Add(1)) - 1; k < n && errs[w] == nil; k = int(next.Add(1)) - 1 {
				if errs[w] = f(k); errs[w] != nil {
					next.Store(math.MaxInt / 2)
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
