package train

import (
	"errors"
	"fmt"
	"time"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// queued enqueues steps on a device and does not wait for them. The device adds up
// their losses, which the host reads now and then.
type queued struct {
	*trainer
	totals    storage.Array // of the epoch: see tensor.AddMetrics
	samples   int           // of the epoch, in all steps that were enqueued
	first     uint64        // steps of the run before the epoch, or the rest of it
	enqueued  uint64        // steps of the run with those that were enqueued
	collected time.Time     // when totals was last read
	pending   int           // steps enqueued since

	recorder  *tensor.GraphCapturer // nil if steps are not captured
	allocated map[int]bool          // the variants whose memory the recorder has allocated
	retried   bool                  // whether the last capture failed, and the step ran without
}

// Totals are read once they are this old and at least so many steps are pending.
var maxAge = 100 * time.Millisecond // tests change it

const minPending = 8

// A graph is a captured step.
type graph struct {
	captured tensor.Graph
	updates  bool // whether it updates the parameters
}

func (t *trainer) newQueued() (*queued, error) {
	if d, ok := t.Device.(interface{ Preload() }); ok {
		d.Preload()
	}
	q := &queued{trainer: t, allocated: map[int]bool{}}
	q.recorder, t.plan.NoGraph = t.newRecorder()
	if why := t.plan.NoGraph; why != "" && t.Config.Graph == config.Yes {
		return nil, fmt.Errorf("graph: %s; leave it out: %w", why, storage.ErrState)
	}
	t.plan.Graph, t.plan.Fallbacks = q.recorder != nil, t.fallbacks()
	var err error
	q.totals, err = storage.Make(t.Device, dtype.Float64, tensor.MetricCount)
	return q, err
}

// newRecorder returns a recorder of t's steps, or nil and the reason why they cannot
// be captured.
func (t *trainer) newRecorder() (*tensor.GraphCapturer, string) {
	if t.Config.Graph == config.No {
		return nil, ""
	}
	recorder, ok := tensor.NewGraphCapturer(t.Device)
	if !ok {
		return nil, fmt.Sprintf("%v cannot capture graphs", t.Device)
	}
	if t.capturable == nil {
		return nil, fmt.Sprintf("%T takes its hyperparameters by value", t.Optimizer)
	}
	for _, h := range t.hooks {
		if _, ok := h.(CapturableHook); !ok {
			return nil, fmt.Sprintf("the hook %T cannot be captured", h)
		}
	}
	return recorder, ""
}

// fallbacks returns what the device says that it does without.
func (t *trainer) fallbacks() []string {
	if d, ok := t.Device.(interface{ Fallbacks() []string }); ok {
		return d.Fallbacks()
	}
	return nil
}

// noteFallbacks notes what the device does without since a step found out.
func (q *queued) noteFallbacks() error {
	known := len(q.plan.Fallbacks)
	q.plan.Fallbacks = q.fallbacks()
	for _, text := range q.plan.Fallbacks[min(known, len(q.plan.Fallbacks)):] {
		if err := q.note(text); err != nil {
			return err
		}
	}
	return nil
}

func (q *queued) beginEpoch() error {
	running := q.Position.Running
	q.samples, q.first, q.enqueued = running.Samples, q.Position.Step, q.Position.Step
	q.collected, q.pending = time.Now(), 0
	start := make([]float64, tensor.MetricCount)
	start[tensor.MetricLoss], start[tensor.MetricCorrect], start[tensor.MetricIgnored] = running.Loss, float64(running.Correct), float64(running.Ignored)
	return storage.From(start, len(start)).CopyTo(q.totals)
}

func (q *queued) step(b *batch) error {
	updated, err := q.enqueue(b)
	if err != nil {
		return fmt.Errorf("epoch %d, step %d: %w", q.Position.Epoch+1, q.Position.Step+1, err)
	}
	if updated && q.capturable != nil {
		q.capturable.CountStep()
	}
	q.samples += b.n
	q.enqueued++
	if q.pending++; q.pending >= minPending && time.Since(q.collected) > maxAge {
		return q.collect()
	}
	return nil
}

// enqueue makes a step on the device and reports whether it updates the parameters.
// A full batch replays the slot's graph, since its addresses and shapes are the same.
func (q *queued) enqueue(b *batch) (updated bool, err error) {
	info := q.batchInfo(b)
	variant, same := 0, q.recorder != nil && b.n == q.fullBatch()
	if same {
		variant, same = variantOf(q.hooks, info)
	}
	if g, ok := b.slot.graphs[variant]; ok && same {
		return g.updates, g.captured.Replay()
	}
	q.captureArgs(b.slot.args.hyper)
	return q.run(b, info, variant, same)
}

// run makes a step without a graph or captures it in one, if it is the same as others of
// its variant.
func (q *queued) run(b *batch, info BatchInfo, variant int, same bool) (updated bool, err error) {
	work := func(t *tensor.Tape) (err error) {
		updated, err = q.compute(t, b, info)
		return err
	}
	switch {
	case !same:
		err = tensor.Step(work)
	case !q.allocated[variant]:
		q.allocated[variant] = true
		err = q.recorder.Step(work)
	default:
		err = q.capture(b.slot, variant, work, &updated)
	}
	return updated, errors.Join(err, q.noteFallbacks())
}

// capture captures a step in a graph of the slot and runs it. It fails once where
// memory that the recorder had allocated was freed for something else; the step,
// made without a graph, allocates it anew. A step that cannot be captured is made
// without a graph, as are all later ones, unless graphs were asked for.
func (q *queued) capture(s *slot, variant int, work func(t *tensor.Tape) error, updates *bool) error {
	replay, err := q.recorder.Capture(work)
	switch {
	case err == nil:
		q.retried = false
		if s.graphs == nil {
			s.graphs = map[int]graph{}
		}
		s.graphs[variant] = graph{replay, *updates}
		return replay.Replay()
	case !q.retried:
		q.retried = true
	case q.Config.Graph == config.Yes:
		return err
	default:
		q.plan.Graph, q.plan.NoGraph = false, err.Error()
		recorder := q.recorder
		q.recorder = nil
		note := fmt.Sprintf("steps are not captured in a graph after all, which is slower: %v", err)
		if err := q.note(note); err != nil {
			return err
		}
		return recorder.Step(work)
	}
	return q.recorder.Step(work)
}

// compute makes a step as the device runs it.
func (q *queued) compute(t *tensor.Tape, b *batch, info BatchInfo) (updated bool, err error) {
	t.SeedAt(q.Config.Seed, b.slot.args.random)
	q.autocast(t)
	e := exampleOf(t, q.Inputs, q.binding, b.fields, b.rows)
	outputs, targets := q.forward(e)
	loss := q.lossOf(outputs, targets, e.weights)
	correct, ignored := q.correct(outputs, targets, loss)
	weights := q.countWeights(e, outputs, targets)
	outputs, targets, shown := q.inDataUnits(e, outputs, targets, loss)
	tensor.AddMetrics(q.totals, b.n, shown, correct, ignored)
	q.metrics.update(outputs, targets, weights, shown)
	return q.update(info, loss)
}

func (q *queued) collect() error {
	if q.pending == 0 {
		return nil
	}
	sums, err := readTotals(q.totals)
	if err != nil {
		return fmt.Errorf("epoch %d, by step %d: %w", q.Position.Epoch+1, q.enqueued, err)
	}
	if bad := sums[tensor.MetricFirstNonFinite]; bad != 0 {
		err := tensor.Try(func() { failNonFinite(sums[tensor.MetricLoss]) })
		return fmt.Errorf("epoch %d, step %d: %w", q.Position.Epoch+1, q.first+uint64(bad), err)
	}
	if err := q.lossScaleErr(); err != nil {
		return fmt.Errorf("epoch %d, by step %d: %w", q.Position.Epoch+1, q.enqueued, err)
	}
	running := &q.Position.Running
	running.Samples, running.Loss = q.samples, sums[tensor.MetricLoss]
	running.Correct, running.Ignored = int(sums[tensor.MetricCorrect]), int(sums[tensor.MetricIgnored])
	q.collected, q.pending = time.Now(), 0
	return nil
}

// readTotals waits for the device and reads totals. A failure before that is the
// device's to report.
func readTotals(totals storage.Array) ([]float64, error) {
	if err := totals.Data.Device().Sync(); err != nil {
		return nil, err
	}
	return storage.Read[float64](totals)
}
