// Package collectivetest examines implementations of collective.Group.
package collectivetest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/dtype"
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
	var waits []collective.Wait
	var received, want [][][]byte
	for _, scale := range []int{0, 1, 7, 4096, 1 << 19} { // all at a time
		send, receive, wanted := make([][]byte, g.Size()), make([][]byte, g.Size()), make([][]byte, g.Size())
		for r := range g.Size() {
			send[r], wanted[r] = message(g.Rank(), r, scale), message(r, g.Rank(), scale)
			receive[r] = make([]byte, len(wanted[r]))
		}
		waits, received, want = append(waits, g.Start(send, receive)), append(received, receive), append(want, wanted)
	}
	for i, wait := range waits {
		if err := wait(); err != nil {
			return fmt.Errorf("rank %d: %w", g.Rank(), err)
		}
		for r := range want[i] {
			if !bytes.Equal(received[i][r], want[i][r]) {
				return fmt.Errorf("rank %d, from rank %d: another message of %d bytes", g.Rank(), r, len(want[i][r]))
			}
		}
	}
	if err := errors.Join(checkSum[float32](g, dtype.Float32), checkSum[float64](g, dtype.Float64)); err != nil {
		return fmt.Errorf("rank %d: %w", g.Rank(), err)
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

// checkSum adds numbers whose sums are exact, and numbers whose sums depend on the order.
func checkSum[T float32 | float64](g collective.Group, t dtype.Type) error {
	for _, n := range []int{0, 1, 5, 1 << 17} {
		whole, rounded, want := make([]T, n), make([]T, n), T(0)
		for i := range n {
			whole[i], rounded[i] = T((g.Rank()+1)*(i%1000)), 1/T(3*i+g.Rank()+1)
		}
		for r := range g.Size() {
			want += T(r + 1)
		}
		waits := []collective.Wait{g.StartSum(t, dtype.Bytes(whole)), g.StartSum(t, dtype.Bytes(rounded))}
		for _, wait := range waits {
			if err := wait(); err != nil {
				return fmt.Errorf("sum of %d %v: %w", n, t, err)
			}
		}
		for i, x := range whole {
			if x != want*T(i%1000) {
				return fmt.Errorf("sum of %d %v: element %d is %v; want %v", n, t, i, x, want*T(i%1000))
			}
		}
		all, err := collective.Gather(g, dtype.Bytes(rounded))
		if err != nil {
			return err
		}
		for r, there := range all {
			if !bytes.Equal(there, all[0]) {
				return fmt.Errorf("sum of %d %v: rank %d has other bits than rank 0", n, t, r)
			}
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
