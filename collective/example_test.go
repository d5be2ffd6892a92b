package collective_test

import (
	"fmt"
	"sync"

	"github.com/h5dnn/h5dnn/collective"
)

func ExampleGather() {
	var ranks sync.WaitGroup
	for _, g := range collective.Local(3) {
		ranks.Go(func() {
			all, err := collective.Gather(g, fmt.Append(nil, "rank ", g.Rank()))
			if g.Rank() == 1 {
				fmt.Printf("%s %v\n", all, err)
			}
		})
	}
	ranks.Wait()
	// Output: [rank 0 rank 1 rank 2] <nil>
}
