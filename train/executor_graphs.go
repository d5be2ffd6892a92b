package train

import (
	"fmt"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/tensor"
)

// graphs capture the steps of an executor and replay them. A step is captured for each
// slot of the ring, since a graph fixes the addresses it uses, and for each variant.
// Steps of samples that are all on the device are captured several at a time once a trial
// has told how long they take.
type graphs struct {
	recorder      *tensor.GraphCapturer // nil if steps are not captured
	updates       map[int]bool          // by variant, once it has run: whether its step updates the parameters
	retried       bool                  // whether the last capture failed, and its steps ran without
	order         tensor.GraphOrder     // of the graphs, after the trial
	stepsPerGraph int
	trial         *graphTrial // nil before the first replay and after the trial
	tried         bool        // whether there was a trial
}

// maxStepsPerGraph bounds the steps of a graph: with 8 a launch of 5 microseconds takes
// less than a microsecond of each.
const maxStepsPerGraph = 8

// maxGraphs bounds the graphs of several steps that a slot has: there are more kinds if
// hooks have many variants, or if the run is saved often.
const maxGraphs = 8

// A graphKey tells apart the graphs of a slot.
type graphKey struct {
	order    tensor.GraphOrder
	steps    int
	variants [maxStepsPerGraph]int
}

func newGraphs(recorder *tensor.GraphCapturer) graphs {
	return graphs{recorder: recorder, updates: map[int]bool{}, stepsPerGraph: 1}
}

// newRecorder returns a recorder of t's steps, or nil and the reason why they cannot
// be captured.
func (t *trainer) newRecorder() (*tensor.GraphCapturer, string) {
	if t.r.Config.Graph == config.No {
		return nil, ""
	}
	recorder, ok := tensor.NewGraphCapturer(t.r.Device)
	if !ok {
		return nil, fmt.Sprintf("%v cannot capture graphs", t.r.Device)
	}
	if t.capturable == nil {
		return nil, fmt.Sprintf("%T takes its hyperparameters by value", t.r.Optimizer)
	}
	for _, h := range t.r.hooks {
		if _, ok := h.(CapturableHook); !ok {
			return nil, fmt.Sprintf("the hook %T cannot be captured", h)
		}
	}
	return recorder, ""
}

// replayable reports whether a step may be replayed: it must have run before.
func (g *graphs) replayable(s queuedStep) bool {
	_, ran := g.updates[s.variant]
	return s.same && ran && g.recorder != nil
}

// replay makes steps by a graph of the slot, which it captures at first.
func (q *queued) replay(s *slot, steps []queuedStep) error {
	if !q.tried {
		q.tried, q.trial = true, &graphTrial{variant: steps[0].variant, orders: 2, slots: map[*slot]bool{}}
	}
	key := graphKey{order: q.orderNow(), steps: len(steps)}
	for i, step := range steps {
		key.variants[i] = step.variant
	}
	if _, ok := s.graphs[key]; ok {
		return q.timedReplay(s, key, true)
	}
	if key.steps > 1 && s.countLong() >= maxGraphs {
		return q.runAll(steps)
	}
	return q.capture(s, key, steps)
}

// countLong returns the number of graphs of several steps.
func (s *slot) countLong() (n int) {
	for key := range s.graphs {
		if key.steps > 1 {
			n++
		}
	}
	return n
}

// runAll makes steps without a graph.
func (q *queued) runAll(steps []queuedStep) error {
	for _, s := range steps {
		if _, err := q.run(s); err != nil {
			return err
		}
	}
	return nil
}

// capture captures steps in a graph of the slot and runs it. It fails once where
// memory that the recorder had allocated was freed for something else; the steps,
// made without a graph, allocate it anew. Steps that cannot be captured are made
// without a graph, as are all later ones, unless graphs were asked for.
func (q *queued) capture(s *slot, key graphKey, steps []queuedStep) error {
	work := make([]func(*tensor.Tape) error, len(steps))
	for i := range steps {
		work[i] = func(t *tensor.Tape) error {
			q.captureArgs(steps[i].args.hyper)
			_, err := q.compute(t, &steps[i])
			return err
		}
	}
	captured, err := q.recorder.Capture(key.order, work...)
	switch {
	case err == nil:
		q.retried = false
		if s.graphs == nil {
			s.graphs = map[graphKey]tensor.Graph{}
		}
		s.graphs[key] = captured
		return q.timedReplay(s, key, false)
	case !q.retried:
		q.retried = true
	case q.r.Config.Graph == config.Yes:
		return err
	default:
		q.plan.Graph, q.plan.NoGraph = false, err.Error()
		note := fmt.Sprintf("steps are not captured in a graph after all, which is slower: %v", err)
		if err := q.note(note); err != nil {
			return err
		}
		defer func() { q.recorder, q.stepsPerGraph = nil, 1 }()
	}
	return q.runAll(steps)
}
