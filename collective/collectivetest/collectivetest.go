// Package collectivetest examines implementations of collective.Group.
package collectivetest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/h5dnn/h5dnn/collective"
)

// Check makes exchanges of many lengths on the ranks of a group, each on a goroutine of its own, or on the ranks of
// this process alone, and returns what is wrong.
func Check(ranks ...collective.Group) error {
	errs := make([]error, len(ranks))
	var all sync.WaitGroup
	for i, g := range ranks {
		all.Go(func() { errs[i] = check(g) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func check(g collective.Group) error {
	if g.Size() < 1 || g.Rank() < 0 || g.Rank() >= g.Size() {
		return fmt.Errorf("rank %d of %d", g.Rank(), g.Size())
	}
	for _, scale := range []int{0, 1, 7, 4096, 1 << 19} {
		send, receive, want := make([][]byte, g.Size()), make([][]byte, g.Size()), make([][]byte, g.Size())
		for r := range g.Size() {
			send[r], want[r] = message(g.Rank(), r, scale), message(r, g.Rank(), scale)
			receive[r] = make([]byte, len(want[r]))
		}
		if err := g.Exchange(send, receive); err != nil {
			return fmt.Errorf("rank %d: %w", g.Rank(), err)
		}
		for r := range want {
			if !bytes.Equal(receive[r], want[r]) {
				return fmt.Errorf("rank %d, from rank %d: another message of %d bytes", g.Rank(), r, len(want[r]))
			}
		}
	}
	all, err := collective.Gather(g, message(g.Rank(), 0, 5))
	if err != nil {
		return fmt.Errorf("rank %d: %w", g.Rank(), err)
	}
	for r, got := range all {
		if !bytes.Equal(got, message(r, 0, 5)) {
			return fmt.Errorf("rank %d gathers another message from rank %d", g.Rank(), r)
		}
	}
	return nil
}

// message returns what a rank sends to another, of about scale bytes.
func message(from, to, scale int) []byte {
	m := make([]byte, scale*(1+(from+2*to)%3)+min(scale, 1)*from)
	for i := range m {
		m[i] = byte(31*from + 17*to + i + i>>8)
	}
	return m
}
