package collective

import (
	"fmt"
	"sync"
)

// Local returns the groups of n ranks in this process, each for a goroutine of its own.
func Local(n int) []Group {
	r := &room{send: make([][][]byte, n)}
	r.changed.L = &r.lock
	groups := make([]Group, n)
	for rank := range groups {
		groups[rank] = &local{rank, r}
	}
	return groups
}

// A room is where the ranks of a process meet. An exchange has two meetings: after the first, all have said what they
// send; after the second, all have copied what they receive.
type room struct {
	lock    sync.Mutex
	changed sync.Cond
	send    [][][]byte // by rank
	arrived int        // at the meeting
	meeting int
	ended   error // why there are no more meetings
}

type local struct {
	rank int
	room *room
}

func (l *local) Rank() int { return l.rank }
func (l *local) Size() int { return len(l.room.send) }

func (l *local) Exchange(send, receive [][]byte) error {
	if err := l.room.meet(func() { l.room.send[l.rank] = send }); err != nil {
		return err
	}
	for r, into := range receive {
		from := l.room.send[r][l.rank]
		if len(from) != len(into) {
			err := fmt.Errorf("collective: rank %d sends %d bytes to rank %d, which expects %d: %w", r, len(from), l.rank, len(into), ErrGroup)
			l.Abort(err)
			return err
		}
		copy(into, from)
	}
	return l.room.meet(func() {})
}

// meet waits until all ranks are there. Each calls arrive first.
func (r *room) meet(arrive func()) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	arrive()
	meeting := r.meeting
	if r.arrived++; r.arrived == len(r.send) {
		r.arrived = 0
		r.meeting++
		r.changed.Broadcast()
	}
	for r.meeting == meeting && r.ended == nil {
		r.changed.Wait()
	}
	if r.meeting == meeting {
		return r.ended
	}
	return nil
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
