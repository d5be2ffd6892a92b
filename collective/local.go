package collective

import (
	"fmt"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
)

// Local returns the groups of n ranks in this process, each for a goroutine of its own.
func Local(n int) []Group {
	r := &room{size: n, exchanges: map[int]*exchange{}}
	r.changed.L = &r.lock
	groups := make([]Group, n)
	for rank := range groups {
		groups[rank] = &local{rank: rank, room: r}
	}
	return groups
}

// A room is where the ranks of a process meet.
type room struct {
	size      int
	lock      sync.Mutex
	changed   sync.Cond
	exchanges map[int]*exchange // by number, that are not done
	ended     error             // why there are no more exchanges
}

// An exchange is done once all ranks have started it and have copied what they receive.
type exchange struct {
	send            [][][]byte // by rank
	started, copied int        // number of ranks
}

type local struct {
	rank    int
	room    *room
	started int // number of exchanges
}

func (l *local) Rank() int { return l.rank }
func (l *local) Size() int { return l.room.size }

func (l *local) Start(send, receive [][]byte) Wait {
	r, number := l.room, l.started
	l.started++
	r.lock.Lock()
	defer r.lock.Unlock()
	e, ok := r.exchanges[number]
	if !ok {
		e = &exchange{send: make([][][]byte, r.size)}
		r.exchanges[number] = e
	}
	e.send[l.rank] = send
	e.started++
	r.changed.Broadcast()
	return func() error { return l.finish(number, e, receive) }
}

// finish copies what this rank receives and waits until all have done so.
func (l *local) finish(number int, e *exchange, receive [][]byte) error {
	if err := l.room.await(&e.started); err != nil {
		return err
	}
	for r, into := range receive {
		from := e.send[r][l.rank]
		if len(from) != len(into) {
			err := fmt.Errorf("collective: rank %d sends %d bytes to rank %d, which expects %d: %w", r, len(from), l.rank, len(into), ErrGroup)
			l.Abort(err)
			return err
		}
		copy(into, from)
	}
	l.room.lock.Lock()
	if e.copied++; e.copied == l.Size() {
		delete(l.room.exchanges, number)
	}
	l.room.changed.Broadcast()
	l.room.lock.Unlock()
	return l.room.await(&e.copied)
}

// await waits until all ranks are counted.
func (r *room) await(count *int) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	for *count < r.size && r.ended == nil {
		r.changed.Wait()
	}
	if *count < r.size {
		return r.ended
	}
	return nil
}

// StartSum adds in the order of the ranks.
func (l *local) StartSum(t dtype.Type, values []byte) Wait {
	send, all := make([][]byte, l.Size()), make([][]byte, l.Size())
	for r := range send {
		send[r], all[r] = values, make([]byte, len(values))
	}
	wait := l.Start(send, all)
	return func() error {
		if err := wait(); err != nil {
			return err
		}
		switch t {
		case dtype.Float32:
			sum[float32](values, all)
		case dtype.Float64:
			sum[float64](values, all)
		default:
			return fmt.Errorf("collective: sums of %v; want float32 or float64: %w", t, dtype.ErrType)
		}
		return nil
	}
}

func sum[T float32 | float64](values []byte, all [][]byte) {
	sums := dtype.Cast[T](values)
	clear(sums)
	for _, from := range all {
		for i, x := range dtype.Cast[T](from) {
			sums[i] += x
		}
	}
}

func (l *local) Abort(reason error) {
	if reason == nil {
		return
	}
	l.room.lock.Lock()
	defer l.room.lock.Unlock()
	if l.room.ended == nil {
		l.room.ended = fmt.Errorf("%w: rank %d of %d ended: %v", ErrGroup, l.rank, l.Size(), reason)
		l.room.changed.Broadcast()
	}
}
