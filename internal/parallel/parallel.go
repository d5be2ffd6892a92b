// Package parallel runs independent jobs on several goroutines.
package parallel

import (
	"math"
	"sync"
	"sync/atomic"
)

// Do calls f for 0 to n-1 on the given number of goroutines. After a failure no further
// calls begin, and Do returns the error of the smallest number for which f fails. With fewer
// than two workers the calls are made in order by the caller's goroutine.
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
	var mu sync.Mutex
	var failure error
	first := n // number of failure; the calls for smaller numbers began before
	for range workers {
		group.Go(func() {
			for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
				if err := f(k); err != nil {
					next.Store(math.MaxInt / 2)
					mu.Lock()
					defer mu.Unlock()
					if k < first {
						first, failure = k, err
					}
					return
				}
			}
		})
	}
	group.Wait()
	return failure
}
