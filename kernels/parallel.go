package kernels

import (
	"github.com/h5dnn/h5dnn/internal/parallel"
	"github.com/h5dnn/h5dnn/kernels/native"
)

// Parallel calls f for 0 to n-1, in this order, on as many goroutines as threads compute. Kernels
// that f runs on the CPU do not share their work among threads. It returns the error of the smallest
// number for which f fails; no further calls begin after one.
func Parallel(n int, f func(i int) error) error {
	workers := min(native.Threads(), n)
	if workers < 2 {
		return parallel.Do(n, 1, f)
	}
	return parallel.Do(n, workers, func(i int) (err error) {
		native.Alone(func() { err = f(i) })
		return err
	})
}
