package collective_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/collective/collectivetest"
)

func TestLocal(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		if err := collectivetest.Check(collective.Local(n)...); err != nil {
			t.Errorf("%d ranks: %v", n, err)
		}
	}
}

// TestAbortEndsTheOthers: a rank that fails is named by those that wait for it.
func TestAbortEndsTheOthers(t *testing.T) {
	groups := collective.Local(3)
	errs := make([]error, 2)
	var ranks sync.WaitGroup
	for rank := range errs {
		ranks.Go(func() { _, errs[rank] = collective.Gather(groups[rank], nil) })
	}
	groups[2].Abort(errors.New("no disk"))
	ranks.Wait()
	const want = "the processes of the run do not go on together: rank 2 of 3 ended: no disk"
	for rank, err := range errs {
		if !errors.Is(err, collective.ErrGroup) || err.Error() != want {
			t.Errorf("rank %d: %v; want %s", rank, err, want)
		}
	}
}

func TestLengthsHaveToAgree(t *testing.T) {
	groups := collective.Local(2)
	var ranks sync.WaitGroup
	for rank, g := range groups {
		ranks.Go(func() {
			two := [][]byte{make([]byte, 1), make([]byte, 1)}
			if rank == 1 {
				two[0] = make([]byte, 2)
			}
			if err := collective.Exchange(g, two, [][]byte{make([]byte, 1), make([]byte, 1)}); !errors.Is(err, collective.ErrGroup) {
				t.Errorf("rank %d: %v", rank, err)
			}
		})
	}
	ranks.Wait()
}
