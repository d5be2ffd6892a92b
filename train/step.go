package train

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A stepper makes an update for each batch.
type executor interface {
	beginEpoch() error // an epoch, or what is left of it
	step(b *batch) error
	collect() error // makes Position.Running what the steps so far have given
}

// head returns what the next step is told in memory, and counts it.
func (f *trainer) nextArgs() (h stepArgs) {
	f.Optimizer.SetRate(f.rateAt(f.Position.Consumed))
	h.random = tensor.RandomStream(f.Position.Step)
	if o, ok := f.Optimizer.(nn.Capturable); ok {
		h.hyper = o.NextStep()
	}
	return h
}

// steer has the optimizer find there what changes from step to step.
func (f *trainer) captureArgs(dials storage.Array) {
	by := tensor.StepArgs{dials}
	if f.scaler != nil {
		by = append(by, f.scaler.Array)
	}
	if o, ok := f.Optimizer.(nn.Capturable); ok {
		o.SetStepArgs(by)
	}
}

// update moves the parameters against the gradients of loss.
func (f *trainer) update(loss *tensor.Tensor) error {
	if f.scaler == nil {
		return f.Optimizer.Step(f.params, tensor.Gradients(loss))
	}
	grads := tensor.Gradients(f.scaler.Scale(loss))
	var all []*tensor.Tensor
	for _, p := range f.params {
		if g := grads[p.Tensor]; g != nil {
			all = append(all, g)
		}
	}
	f.scaler.CheckFinite(all...)
	err := f.Optimizer.Step(f.params, grads)
	f.scaler.Update()
	return err
}

// stuck returns an error if the scale of losses has come to its end.
func (f *trainer) lossScaleErr() error {
	if f.scaler == nil {
		return nil
	}
	return f.scaler.Err()
}

// notFinite ends a step whose loss cannot be learned from.
func failNonFinite(loss float64) {
	tensor.Fail("train", storage.ErrState, "the loss is %v; lower the learning rate, or look for NaN in the data", loss)
}

// synchronous runs each step to its end, on the host.
type synchronous struct {
	*trainer
	hyper storage.Array // of no storage if the optimizer is told by settings
}

func (a *synchronous) beginEpoch() error { return nil }
func (a *synchronous) collect() error    { return nil }

func (a *synchronous) step(b *batch) error {
	a.Optimizer.SetRate(a.rateAt(a.Position.Consumed))
	if a.hyper.Data != nil {
		h := a.nextArgs()
		copy(storage.Elements[float64](a.hyper), h.hyper[:])
		a.captureArgs(a.hyper)
	}
	var loss float64
	var hits int
	err := tensor.Step(func(t *tensor.Tape) error {
		t.Seed(a.Config.Seed, a.Position.Step)
		a.autocast(t)
		out, y := a.outputs(a.Input.Of(t.Input(b.fields[0])), t.Input(b.fields[1]))
		total := a.loss.Forward(out, y, nil)
		if loss = total.Item(); math.IsNaN(loss) || math.IsInf(loss, 0) {
			failNonFinite(loss)
		}
		if h := a.correct(out, y, total); h != nil {
			hits = int(h.Item())
		}
		return a.update(total)
	})
	if err = cmp.Or(err, a.lossScaleErr()); err != nil {
		return fmt.Errorf("epoch %d, step %d: %w", a.Position.Epoch+1, a.Position.Step+1, err)
	}
	a.Position.Running.add(b.n, loss, hits)
	return nil
}

// queued enqueues steps on a device and does not wait for them: their losses are
// added up there, and read now and then.
type queued struct {
	*trainer
	totals    storage.Array // see tensor.AddMetrics
	samples   int           // of the epoch that sums are of, with the steps that were asked for
	first     uint64        // steps of the run before those
	enqueued  uint64        // steps of the run with them
	collected time.Time
	pending   int // steps since

	recorder  *tensor.Recorder // nil if steps are not recorded
	allocated bool             // whether it should have the memory that a step needs
	retried   bool             // whether it turned out not to, the last time a step was to be recorded
}

// The sums are looked at when they are so old, and of so many steps.
var maxAge = 100 * time.Millisecond // tests want less to depend on time

const minPending = 8

func (a *queued) beginEpoch() error {
	sofar := a.Position.Running
	a.samples, a.first, a.enqueued = sofar.Samples, a.Position.Step, a.Position.Step
	a.collected, a.pending = time.Now(), 0
	start := make([]float64, tensor.MetricCount)
	start[tensor.MetricLoss], start[tensor.MetricCorrect] = sofar.Loss, float64(sofar.Correct)
	return storage.From(start, len(start)).CopyTo(a.totals)
}

func (a *queued) step(b *batch) error {
	if err := a.enqueue(b); err != nil {
		return fmt.Errorf("epoch %d, step %d: %w", a.Position.Epoch+1, a.Position.Step+1, err)
	}
	a.samples += b.n
	a.enqueued++
	if a.pending++; a.pending >= minPending && time.Since(a.collected) > maxAge {
		return a.collect()
	}
	return nil
}

// ask has the device make a step: as it was recorded for the slot, where batches
// are whole, since only then addresses and shapes are the same.
func (a *queued) enqueue(b *batch) (err error) {
	work := func(t *tensor.Tape) error { return a.compute(t, b) }
	a.captureArgs(b.slot.args.hyper)
	switch {
	case a.recorder == nil || b.n < a.fullBatch():
		err = tensor.Step(work)
	case !a.allocated:
		a.allocated = true
		err = a.recorder.Step(work)
	case b.slot.graph == nil:
		err = a.capture(b.slot, work)
	default:
		err = b.slot.graph.Replay()
	}
	return err
}

// record records the slot's step and runs it. Where memory is short, some that
// the recorder had may have been given back: then, once, the step is made as it
// is, which takes it anew. A step that cannot be recorded is made as it is, too,
// and all others, unless recording was asked for.
func (a *queued) capture(s *slot, work func(t *tensor.Tape) error) (err error) {
	s.graph, err = a.recorder.Record(work)
	switch {
	case err == nil:
		a.retried = false
		return s.graph.Replay()
	case !a.retried:
		a.retried = true
	case a.Config.Graph == yes:
		return err
	default:
		if a.OnNote != nil {
			a.OnNote(fmt.Sprintf("steps are not recorded after all, which is slower: %v", err))
		}
		a.plan.Graph, a.plan.NoGraph = false, err.Error()
		defer func() { a.recorder = nil }()
	}
	return a.recorder.Step(work)
}

// compute is a step, as the device is asked for it.
func (a *queued) compute(t *tensor.Tape, b *batch) error {
	t.SeedAt(a.Config.Seed, b.slot.args.random)
	a.autocast(t)
	x, y := t.Input(b.fields[0]), t.Input(b.fields[1])
	if b.rows.Data != nil {
		rows := t.Input(b.rows)
		x, y = a.Input.OfRows(x, rows), tensor.Take(y, rows)
	} else {
		x = a.Input.Of(x)
	}
	out, target := a.outputs(x, y)
	loss := a.loss.Forward(out, target, nil)
	tensor.AddMetrics(a.totals, b.n, loss, a.correct(out, target, loss))
	return a.update(loss)
}

func (a *queued) collect() error {
	if a.pending == 0 {
		return nil
	}
	sums, err := readTotals(a.totals)
	if err != nil {
		return fmt.Errorf("epoch %d, by step %d: %w", a.Position.Epoch+1, a.enqueued, err)
	}
	if bad := sums[tensor.MetricFirstNonFinite]; bad != 0 {
		err := tensor.Try(func() { failNonFinite(sums[tensor.MetricLoss]) })
		return fmt.Errorf("epoch %d, step %d: %w", a.Position.Epoch+1, a.first+uint64(bad), err)
	}
	if err := a.lossScaleErr(); err != nil {
		return fmt.Errorf("epoch %d, by step %d: %w", a.Position.Epoch+1, a.enqueued, err)
	}
	sofar := &a.Position.Running
	sofar.Samples, sofar.Loss, sofar.Correct = a.samples, sums[tensor.MetricLoss], int(sums[tensor.MetricCorrect])
	a.collected, a.pending = time.Now(), 0
	return nil
}

// totals waits for a tally. What failed before is told as the device does.
func readTotals(sums storage.Array) ([]float64, error) {
	if err := sums.Data.Device().Sync(); err != nil {
		return nil, err
	}
	return storage.Read[float64](sums)
}
