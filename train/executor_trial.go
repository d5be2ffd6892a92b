package train

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A GraphChoice is the way in which steps are replayed, with the timings behind the choice.
type GraphChoice struct {
	Order tensor.GraphOrder
	Steps int // of a graph, at most
	// Branches and Line are the median times of a step whose graph has concurrent
	// branches, and of one in a straight line; 0 if that was not measured.
	Branches, Line time.Duration
}

// String describes the choice: "8 steps a graph, concurrent branches: 80.1 µs a step, 95.2 µs in a straight line".
func (c GraphChoice) String() string {
	text := fmt.Sprintf("%d steps a graph, %v: ", c.Steps, c.Order)
	if c.Steps == 1 {
		text = fmt.Sprintf("1 step a graph, %v: ", c.Order)
	}
	micros := func(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d)/1e3) }
	switch {
	case c.Branches == 0:
		return text + micros(c.Line) + " a step"
	case c.Order == tensor.StraightLine:
		return text + micros(c.Line) + " a step, " + micros(c.Branches) + " in branches"
	}
	return text + micros(c.Branches) + " a step, " + micros(c.Line) + " in a straight line"
}

// A graphTrial measures real steps of one variant, replayed in turns by graphs of either
// order.
type graphTrial struct {
	variant int
	replays int
	orders  int // that differ: 1 if the device, or the model, has no concurrent branches
	timers  [2][]replayTimer
	slots   map[*slot]bool
}

// A replayTimer has the events before and after a replay.
type replayTimer struct{ before, after storage.Event }

// timedReplays is the number of replays of each order that are timed.
var timedReplays = 4 * ringSize

// groupTime is about the time that the steps of a graph take together: with longer steps
// the time between two launches does not matter. Tests change it.
var groupTime = time.Millisecond

// orderNow returns the order of the next replay. Those of the trial take turns of a round
// through the ring.
func (q *queued) orderNow() tensor.GraphOrder {
	if q.trial == nil {
		return q.order
	}
	return tensor.GraphOrder(q.trial.replays / ringSize % q.trial.orders)
}

// complete reports whether everything is measured.
func (t *graphTrial) complete() bool {
	if t == nil {
		return false
	}
	for _, timers := range t.timers[:t.orders] {
		if len(timers) < timedReplays {
			return false
		}
	}
	return true
}

// timedReplay replays a graph of a slot, for the first time or again. Later replays of the
// trial's variant are timed.
func (q *queued) timedReplay(s *slot, key graphKey, again bool) error {
	g, t := s.graphs[key], q.trial
	if t == nil || key.steps > 1 || key.variants[0] != t.variant {
		return g.Replay()
	}
	if calls, deep := g.Depth(); key.order == tensor.ByData && calls == deep {
		t.orders = 1
	}
	t.slots[s] = true
	t.replays++
	if !again || len(t.timers[key.order]) >= timedReplays {
		return g.Replay()
	}
	timer, err := newReplayTimer(q.ring)
	if err != nil {
		return err
	}
	t.timers[key.order] = append(t.timers[key.order], timer)
	stream := q.ring.device.ComputeStream()
	if err := stream.Record(timer.before); err != nil {
		return err
	}
	if err := g.Replay(); err != nil {
		return err
	}
	return stream.Record(timer.after)
}

// newReplayTimer returns a timer whose events r closes.
func newReplayTimer(r *ring) (t replayTimer, err error) {
	open := func() (storage.Event, error) { return r.device.OpenEvent(true) }
	if t.before, err = opened(r, open); err != nil {
		return t, err
	}
	t.after, err = opened(r, open)
	return t, err
}

// endTrial chooses how later steps are replayed, once everything is measured and the
// device is done with it, and closes the graphs of the other order.
func (q *queued) endTrial() error {
	t := q.trial
	if !t.complete() {
		return nil
	}
	var c GraphChoice
	var err error
	if c.Branches, err = medianTime(t.timers[tensor.ByData]); err != nil {
		return err
	}
	if c.Line, err = medianTime(t.timers[tensor.StraightLine]); err != nil {
		return err
	}
	step := c.Branches
	switch {
	case t.orders == 1: // graphs of either order are alike
		c.Order, c.Branches, c.Line = tensor.StraightLine, 0, c.Branches
	case c.Line < c.Branches:
		c.Order, step = tensor.StraightLine, c.Line
	}
	q.order = tensor.ByData
	if t.orders > 1 {
		q.order = c.Order
	}
	if c.Steps = 1; q.grouping() {
		c.Steps = int(min(groupTime/max(1, step), maxStepsPerGraph))
		c.Steps = max(1, c.Steps)
	}
	q.stepsPerGraph, q.trial, q.plan.GraphChoice = c.Steps, nil, &c
	return t.closeOthers(q.order)
}

// grouping reports whether several steps may be launched together: those of samples that
// are all on the device, unless a callback may look at the model after each.
func (q *queued) grouping() bool {
	for _, c := range q.stepCallbacks {
		if _, model := looksAt(c); model {
			return false
		}
	}
	return q.plan.Resident
}

// medianTime returns the median of the times measured.
func medianTime(timers []replayTimer) (time.Duration, error) {
	var times []time.Duration
	for _, t := range timers {
		d, both, err := t.after.Since(t.before)
		if err != nil {
			return 0, err
		}
		if both {
			times = append(times, d)
		}
	}
	if len(times) == 0 {
		return 0, nil
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// closeOthers closes the graphs that have another order.
func (t *graphTrial) closeOthers(order tensor.GraphOrder) error {
	var failed error
	for s := range t.slots {
		for key, g := range s.graphs {
			if key.order != order {
				delete(s.graphs, key)
				failed = cmp.Or(failed, g.Close())
			}
		}
	}
	return failed
}
