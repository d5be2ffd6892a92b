package cudatest

import "time"

// A stream is work in order. All fields are guarded by the driver's lock.
type stream struct {
	gpu   *gpu
	tasks []task
	done  []time.Time // when tasks were, from the first
	awake bool

	recording *recording // what is issued goes there instead; nil if it is done
	front     []int      // nodes that the next one comes after
}

// A task is something to do, once a place in a stream is reached.
type task struct {
	after place
	run   func() error
}

// A place is behind so many tasks of a stream; the zero place is reached.
type place struct {
	stream *stream
	tasks  int
}

func (p place) reached() bool { return p.stream == nil || len(p.stream.done) >= p.tasks }

// since returns how much later p was reached than q; both were.
func (p place) since(q place) time.Duration { return p.when().Sub(q.when()) }

// when returns the time when p was reached: what is in front of all tasks was when
// the program began.
func (p place) when() time.Time {
	if p.tasks == 0 {
		return began
	}
	return p.stream.done[p.tasks-1]
}

var began = time.Now()

// An event is a place that moves, in a stream or in a recording.
type event struct {
	place
	mark *mark
}

// end returns the place behind all that has been issued.
func (s *stream) end() place { return place{s, len(s.tasks)} }

// issue appends a task to s, or to what is being recorded of it. While the work of
// some streams is recorded, others of the gpu take none.
func (d *driver) issue(s *stream, after place, run func() error) code {
	if s.recording != nil {
		s.recording.add(s, run)
		return success
	}
	if s.gpu.recording() {
		return s.gpu.refuse()
	}
	s.tasks = append(s.tasks, task{after, run})
	switch d.schedule {
	case Eager:
		d.force(s.end())
	case Async:
		if !s.awake {
			s.awake = true
			go d.serve(s)
		}
	}
	return success
}

// force does all tasks before a place, and those that they wait for.
func (d *driver) force(p place) {
	for !p.reached() {
		t := p.stream.tasks[len(p.stream.done)]
		d.force(t.after)
		if g := p.stream.gpu; g.failure == nil {
			g.note(t.run())
		}
		p.stream.done = append(p.stream.done, time.Now())
	}
}

// serve does a stream's tasks for as long as there are any.
func (d *driver) serve(s *stream) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(s.done) < len(s.tasks) {
		t := s.tasks[len(s.done)]
		for !t.after.reached() {
			d.progress.Wait()
		}
		if s.gpu.failure == nil {
			d.mu.Unlock()
			err := t.run()
			d.mu.Lock()
			s.gpu.note(err)
		}
		s.done = append(s.done, time.Now())
		d.progress.Broadcast()
	}
	s.awake = false
}

// await waits until a place is reached.
func (d *driver) await(p place) {
	if d.schedule != Async {
		d.force(p)
		return
	}
	for !p.reached() {
		d.progress.Wait()
	}
}

// idle waits until all is done that was issued.
func (d *driver) idle() {
	for _, g := range d.gpus {
		for _, s := range g.streams {
			d.await(s.end())
		}
	}
}

// reschedule changes when work is done; what was issued before is done first.
func (d *driver) reschedule(s Schedule) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle()
	d.schedule = s
}
