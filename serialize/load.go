package serialize

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/storage"
)

// Load reads all arrays of f into host memory, on several goroutines. Views of one storage,
// such as tied weights, are read once each.
func Load(f File) ([]Entry, error) {
	list, err := Collect(f)
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	errs := make([]error, len(list))
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
				if list[i].Array, errs[i] = list[i].Array.To(storage.CPU); errs[i] != nil {
					errs[i] = fmt.Errorf("%s: %w", list[i].Name, errs[i])
				}
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
