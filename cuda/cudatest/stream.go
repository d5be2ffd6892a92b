package cudatest

import "time"

// A stream is work in order. All fields are guarded by the driver's lock.
type stream struct {
	gpu     *gpu
	tasks   []task
	done    []time.Time // when tasks were, from the first
	running bool

	capture      *capture // what is issued goes there instead; nil if it is done
	dependencies []int    // nodes that the next one comes after
}

// A task is something to do, once a place in a stream is reached.
type task struct {
	after position
	run   func() error
}

// A place is behind so many tasks of a stream; the zero place is reached.
type position struct {
	stream *stream
	tasks  int
}

func (p position) reached() bool { return p.stream == nil || len(p.stream.done) >= p.tasks }

// since returns how much later p was reached than q; both were.
func (p position) since(q position) time.Duration { return p.when().Sub(q.when()) }

// when returns the time when p was reached: what is in front of all tasks was when
// the program began.
func (p position) when() time.Time {
	if p.tasks == 0 {
		return startTime
	}
	return p.stream.done[p.tasks-1]
}

var startTime = time.Now()

// An event is a place that moves, in a stream or in a recording.
type event struct {
	position
	captured *capturedEventNode
}

// end returns the place behind all that has been issued.
func (s *stream) end() position { return position{s, len(s.tasks)} }

// issue appends a task to s, or to what is being recorded of it. While the work of
// some streams is recorded, others of the gpu take none.
func (d *driver) issue(s *stream, after position, run func() error) code {
	if s.capture != nil {
		s.capture.add(s, run)
		return success
	}
	if s.gpu.capturing() {
		return s.gpu.invalidateCaptures()
	}
	s.tasks = append(s.tasks, task{after, run})
	switch d.schedule {
	case Eager:
		d.force(s.end())
	case Async:
		if !s.running {
			s.running = true
			go d.runStream(s)
		}
	}
	return success
}

// force does all tasks before a place, and those that they wait for.
func (d *driver) force(p position) {
	for !p.reached() {
		t := p.stream.tasks[len(p.stream.done)]
		d.force(t.after)
		if g := p.stream.gpu; g.failure == nil {
			g.fail(t.run())
		}
		p.stream.done = append(p.stream.done, time.Now())
	}
}

// serve does a stream's tasks for as long as there are any.
func (d *driver) runStream(s *stream) {
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
			s.gpu.fail(err)
		}
		s.done = append(s.done, time.Now())
		d.progress.Broadcast()
	}
	s.running = false
}

// await waits until a place is reached.
func (d *driver) await(p position) {
	if d.schedule != Async {
		d.force(p)
		return
	}
	for !p.reached() {
		d.progress.Wait()
	}
}

// idle waits until all is done that was issued.
func (d *driver) waitAll() {
	for _, g := range d.gpus {
		for _, s := range g.streams {
			d.await(s.end())
		}
	}
}

// reschedule changes when work is done; what was issued before is done first.
func (d *driver) setSchedule(s Schedule) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waitAll()
	d.schedule = s
}
