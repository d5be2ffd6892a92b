package ptx

// A shadow is shadow memory for race detection: for every 4 bytes of shared memory, the
// threads that last wrote and read them, each with the number of barriers before. It
// finds missing barriers that lockstep execution hides. Neighbouring elements narrower
// than 4 bytes count as one.
type shadow struct {
	writes, reads []lastAccess
	epoch         uint32 // barriers so far
}

// A lastAccess is by a thread, counted from 1, or by manyThreads; 0 means none.
type lastAccess struct{ thread, epoch uint32 }

const manyThreads = ^uint32(0)

// race reports a read or write that no barrier orders with another thread's.
func (b *block) race(l int32, at uint64, n int, write bool) {
	s, me := &b.shadow, lastAccess{uint32(l) + 1, b.shadow.epoch}
	for w := at / 4; w <= (at+uint64(n)-1)/4; w++ {
		if s.writes[w].conflictsWith(me) {
			b.fail(l, "races with a write by thread %d to byte %d of shared memory: no barrier between", s.writes[w].thread-1, at)
		}
		if !write {
			s.reads[w] = s.reads[w].and(me)
			continue
		}
		if s.reads[w].conflictsWith(me) {
			b.fail(l, "races with a read of byte %d of shared memory: no barrier between", at)
		}
		s.writes[w] = me
	}
}

// conflictsWith reports whether v was another thread since the last barrier.
func (v lastAccess) conflictsWith(me lastAccess) bool {
	return v.thread != 0 && v.epoch == me.epoch && v.thread != me.thread
}

// and returns v and me as one.
func (v lastAccess) and(me lastAccess) lastAccess {
	if v.conflictsWith(me) {
		me.thread = manyThreads
	}
	return me
}
