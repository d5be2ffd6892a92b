package cudatest

import "time"

// A stream is a queue of tasks. All fields are guarded by the driver's lock.
type stream struct {
	gpu     *gpu
	tasks   []task
	done    []time.Time // completion times, in order
	running bool

	capture      *capture // receives issued work instead of tasks; nil outside of capture
	dependencies []int    // nodes that the next one depends on
}

// A task is work that runs once another stream has reached a position.
type task struct {
	after position
	run   func() error
}

// A position is a point in the work of a stream, after its first tasks. It is reached once they are
// done. The zero position is always reached.
type position struct {
	stream *stream
	tasks  int // before it
}

func (p position) reached() bool { return p.stream == nil || len(p.stream.done) >= p.tasks }

// since returns the time from reaching q to reaching p.
func (p position) since(q position) time.Duration { return p.when().Sub(q.when()) }

// when returns the time when p was reached; a stream starts with the program.
func (p position) when() time.Time {
	if p.tasks == 0 {
		return startTime
	}
	return p.stream.done[p.tasks-1]
}

var startTime = time.Now()

// An event is a position that moves, in a stream or in a capture.
type event struct {
	position
	captured *capturedEventNode
	untimed  bool
}

// end returns the position behind all issued tasks.
func (s *stream) end() position { return position{s, len(s.tasks)} }

// issue appends a task to s, or to its capture. While streams of a gpu are captured, its
// other streams refuse work.
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

// force runs all tasks before a position, and those that they wait for.
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

// runStream runs a stream's tasks until there are none.
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

// await waits until a position is reached.
func (d *driver) await(p position) {
	if d.schedule != Async {
		d.force(p)
		return
	}
	for !p.reached() {
		d.progress.Wait()
	}
}

// waitAll waits for all issued work.
func (d *driver) waitAll() {
	for _, g := range d.gpus {
		for _, s := range g.streams {
			d.await(s.end())
		}
	}
}

// setSchedule waits for all issued work and changes the schedule.
func (d *driver) setSchedule(s Schedule) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waitAll()
	d.schedule = s
}
