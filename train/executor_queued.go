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
	start     int           // samples of the epoch before
	enqueued  uint64        // steps of the run with those that were enqueued
	collected time.Time     // when totals was last read
	pending   int           // steps enqueued since

	group []queuedStep // steps that will be launched together, all on one slot
	graphs
}

// maxAge is the age at which totals are read, if at least minPending steps are pending.
var maxAge = 100 * time.Millisecond // tests change it

const minPending = 8

// A queuedStep is a step that was not launched yet.
type queuedStep struct {
	batch
	info    BatchInfo
	variant int  // of the hooks
	same    bool // whether it can be replayed: all steps of its variant are the same
}

func (t *trainer) newQueued() (*queued, error) {
	if d, ok := t.r.Device.(interface{ Preload() }); ok {
		d.Preload()
	}
	q := &queued{trainer: t}
	q.recorder, t.plan.NoGraph = t.newRecorder()
	if why := t.plan.NoGraph; why != "" && t.r.Config.Graph == config.Yes {
		return nil, fmt.Errorf("graph: %s; leave it out: %w", why, storage.ErrState)
	}
	t.plan.Graph, t.plan.Fallbacks = q.recorder != nil, t.fallbacks()
	var err error
	if q.totals, err = storage.Make(t.r.Device, dtype.Float64, tensor.MetricCount); err != nil {
		return nil, err
	}
	q.graphs = newGraphs(q.recorder)
	return q, nil
}

// fallbacks returns what the device says that it does without.
func (t *trainer) fallbacks() []string {
	if d, ok := t.r.Device.(interface{ Fallbacks() []string }); ok {
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
	running := q.r.Position.Running
	q.samples, q.first, q.enqueued = running.Samples, q.r.Position.Step, q.r.Position.Step
	q.start = q.r.Position.Consumed
	q.collected, q.pending = time.Now(), 0
	start := make([]float64, tensor.MetricCount)
	start[tensor.MetricLoss], start[tensor.MetricCorrect], start[tensor.MetricIgnored] = running.Loss, float64(running.Correct), float64(running.Ignored)
	return storage.From(start, len(start)).CopyTo(q.totals)
}

func (q *queued) step(b *batch) error {
	if err := q.enqueue(b); err != nil {
		return fmt.Errorf("epoch %d, step %d: %w", q.r.Position.Epoch+1, q.r.Position.Step+1, err)
	}
	if q.trial.complete() || len(q.group) == 0 && q.pending >= minPending && time.Since(q.collected) > maxAge {
		return q.collect()
	}
	return nil
}

// enqueue makes the step of b the last of the group, and launches the group if it is full
// or if nothing else is to be launched with the step.
func (q *queued) enqueue(b *batch) (err error) {
	s := queuedStep{batch: *b, info: q.batchInfo(b)}
	if q.recorder != nil && b.n == q.fullBatch() {
		s.variant, s.same = variantOf(q.r.hooks, s.info)
	}
	q.group = append(q.group, s)
	updated := q.updates[s.variant]
	if len(q.group) >= q.stepsPerGraph || !q.replayable(s) {
		updated, err = q.launch()
	}
	if updated && q.capturable != nil {
		q.capturable.CountStep()
	}
	q.samples += b.n
	q.enqueued++
	q.pending++
	return err
}

// launch launches the group on its slot, and reports whether its last step updates the
// parameters.
func (q *queued) launch() (updated bool, err error) {
	if len(q.group) == 0 {
		return false, nil
	}
	group, slot := q.group, q.group[0].slot
	q.group = q.group[:0]
	if slot.launched {
		return q.issue(slot, group)
	}
	err = q.ring.launch(slot, func() (err error) {
		updated, err = q.issue(slot, group)
		return err
	})
	return updated, err
}

// issue issues the steps of a group. Those that are replayed are in one graph.
func (q *queued) issue(slot *slot, group []queuedStep) (updated bool, err error) {
	last := len(group) - 1
	if q.replayable(group[last]) {
		return q.updates[group[last].variant], q.replay(slot, group)
	}
	if last > 0 {
		if err := q.replay(slot, group[:last]); err != nil {
			return false, err
		}
	}
	return q.run(group[last])
}

// run makes a step without a graph. The first of a variant allocates the memory that its
// graphs use.
func (q *queued) run(s queuedStep) (updated bool, err error) {
	q.captureArgs(s.args.hyper)
	work := func(t *tensor.Tape) (err error) {
		updated, err = q.compute(t, &s)
		return err
	}
	if !s.same || q.recorder == nil {
		err = tensor.Step(work)
	} else {
		err = q.recorder.Step(work)
		q.updates[s.variant] = updated
	}
	return updated, errors.Join(err, q.noteFallbacks())
}

// compute makes a step as the device runs it.
func (q *queued) compute(t *tensor.Tape, b *queuedStep) (updated bool, err error) {
	t.SeedAt(q.r.Config.Seed, b.args.random)
	q.r.autocast(t)
	c := q.r.compare(exampleOf(t, q.r.Inputs, q.binding, b.fields, b.rows))
	correct, ignored := q.r.correct(c)
	tensor.AddMetrics(q.totals, b.n, q.r.measure(c, q.r.metrics[0]), correct, ignored)
	return q.update(b.info, c)
}

func (q *queued) collect() error {
	if q.pending == 0 {
		return nil
	}
	if _, err := q.launch(); err != nil {
		return fmt.Errorf("epoch %d, by step %d: %w", q.r.Position.Epoch+1, q.enqueued, err)
	}
	sums, err := readTotals(q.totals)
	if err != nil {
		return fmt.Errorf("epoch %d, by step %d: %w", q.r.Position.Epoch+1, q.enqueued, err)
	}
	if bad := sums[tensor.MetricFirstNonFinite]; bad != 0 {
		err := q.nonFinite(sums[tensor.MetricLoss], q.start+(int(bad)-1)*q.fullBatch())
		return fmt.Errorf("epoch %d, step %d: %w", q.r.Position.Epoch+1, q.first+uint64(bad), err)
	}
	if err := q.lossScaleErr(); err != nil {
		return fmt.Errorf("epoch %d, by step %d: %w", q.r.Position.Epoch+1, q.enqueued, err)
	}
	running := &q.r.Position.Running
	running.Samples, running.Loss = q.samples, sums[tensor.MetricLoss]
	running.Correct, running.Ignored = int(sums[tensor.MetricCorrect]), int(sums[tensor.MetricIgnored])
	q.collected, q.pending = time.Now(), 0
	return q.endTrial()
}

// readTotals waits for the device and reads totals. A failure before that is the
// device's to report.
func readTotals(totals storage.Array) ([]float64, error) {
	if err := totals.Data.Device().Sync(); err != nil {
		return nil, err
	}
	return storage.Read[float64](totals)
}
