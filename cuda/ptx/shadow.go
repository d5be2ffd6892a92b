package ptx

// A shadow remembers, for every 4 bytes of shared memory, who last wrote and who
// last read them, each as a thread and the number of barriers before. Lockstep
// hides a missing barrier from results; the shadow sees it. Neighbouring
// elements narrower than 4 bytes are taken for one.
type shadow struct {
	wrote, read []visit
	epoch       uint32 // barriers so far
}

// A visit is a thread, counted from 1, or several; 0 is nobody.
type visit struct{ thread, epoch uint32 }

const several = ^uint32(0)

func newShadow(bytes int) shadow {
	words := (bytes + 3) / 4
	return shadow{wrote: make([]visit, words), read: make([]visit, words)}
}

// race reports a read or write that no barrier orders with another thread's.
func (b *block) race(l int32, at uint64, n int, write bool) {
	s, me := &b.shadow, visit{uint32(l) + 1, b.shadow.epoch}
	for w := at / 4; w <= (at+uint64(n)-1)/4; w++ {
		if s.wrote[w].other(me) {
			b.fail(l, "races with a write by thread %d to byte %d of shared memory: no barrier between", s.wrote[w].thread-1, at)
		}
		if !write {
			s.read[w] = s.read[w].and(me)
			continue
		}
		if s.read[w].other(me) {
			b.fail(l, "races with a read of byte %d of shared memory: no barrier between", at)
		}
		s.wrote[w] = me
	}
}

// other reports whether v was another thread since the last barrier.
func (v visit) other(me visit) bool {
	return v.thread != 0 && v.epoch == me.epoch && v.thread != me.thread
}

// and returns v and me as one.
func (v visit) and(me visit) visit {
	if v.other(me) {
		me.thread = several
	}
	return me
}
