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
type stepper interface {
	begin() error // an epoch, or what is left of it
	step(b *batch) error
	settle() error // makes Cursor.Sofar what the steps so far have given
}

// head returns what the next step is told in memory, and counts it.
func (f *fitting) head() (h head) {
	f.Optimizer.SetRate(f.rateAt(f.Cursor.Consumed))
	h.stream = tensor.Stream(f.Cursor.Step)
	if o, ok := f.Optimizer.(nn.Steerable); ok {
		h.dials = o.Advance()
	}
	return h
}

// steer has the optimizer find there what changes from step to step.
func (f *fitting) steer(dials storage.Array) {
	by := tensor.Steering{dials}
	if f.scaler != nil {
		by = append(by, f.scaler.Array)
	}
	if o, ok := f.Optimizer.(nn.Steerable); ok {
		o.Steer(by)
	}
}

// update moves the parameters against the gradients of loss.
func (f *fitting) update(loss *tensor.Tensor) error {
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
	f.scaler.Check(all...)
	err := f.Optimizer.Step(f.params, grads)
	f.scaler.Step()
	return err
}

// stuck returns an error if the scale of losses has come to its end.
func (f *fitting) stuck() error {
	if f.scaler == nil {
		return nil
	}
	return f.scaler.Err()
}

// notFinite ends a step whose loss cannot be learned from.
func notFinite(loss float64) {
	tensor.Fail("train", storage.ErrState, "the loss is %v; lower the learning rate, or look for NaN in the data", loss)
}

// atOnce makes each step when it is asked to, on the host.
type atOnce struct {
	*fitting
	dials storage.Array // of no storage if the optimizer is told by settings
}

func (a *atOnce) begin() error  { return nil }
func (a *atOnce) settle() error { return nil }

func (a *atOnce) step(b *batch) error {
	a.Optimizer.SetRate(a.rateAt(a.Cursor.Consumed))
	if a.dials.Data != nil {
		h := a.head()
		copy(storage.Elements[float64](a.dials), h.dials[:])
		a.steer(a.dials)
	}
	var loss float64
	var hits int
	var failed error
	err := tensor.Step(func(t *tensor.Tape) {
		t.Seed(a.Config.Seed, a.Cursor.Step)
		a.lower(t)
		out, y := a.answer(a.Input.Of(t.Watch(b.fields[0])), t.Watch(b.fields[1]))
		total := a.loss(out, y)
		if loss = total.Item(); math.IsNaN(loss) || math.IsInf(loss, 0) {
			notFinite(loss)
		}
		if h := a.hits(out, y, total); h != nil {
			hits = int(h.Item())
		}
		failed = a.update(total)
	})
	if err = cmp.Or(err, failed, a.stuck()); err != nil {
		return fmt.Errorf("epoch %d, step %d: %w", a.Cursor.Epoch+1, a.Cursor.Step+1, err)
	}
	a.Cursor.Sofar.add(b.n, loss, hits)
	return nil
}

// ahead asks a device for steps and does not wait for them: what they give is
// added up there, and looked at now and then.
type ahead struct {
	*fitting
	sums     storage.Array // see tensor.AddTally
	samples  int           // of the epoch that sums are of, with the steps that were asked for
	first    uint64        // steps of the run before those
	asked    uint64        // steps of the run with them
	settled  time.Time
	unsettle int // steps since

	recorder *tensor.Recorder // nil if steps are not recorded
	warm     bool             // whether it should have the memory that a step needs
	cold     bool             // whether it turned out not to, the last time a step was to be recorded
}

// The sums are looked at when they are so old, and of so many steps.
var stale = 100 * time.Millisecond // tests want less to depend on time

const unsettled = 8

func (a *ahead) begin() error {
	sofar := a.Cursor.Sofar
	a.samples, a.first, a.asked = sofar.Samples, a.Cursor.Step, a.Cursor.Step
	a.settled, a.unsettle = time.Now(), 0
	start := make([]float64, tensor.TallySize)
	start[tensor.TallyLoss], start[tensor.TallyHits] = sofar.Loss, float64(sofar.Hits)
	return storage.From(start, len(start)).CopyTo(a.sums)
}

func (a *ahead) step(b *batch) error {
	if err := a.ask(b); err != nil {
		return fmt.Errorf("epoch %d, step %d: %w", a.Cursor.Epoch+1, a.Cursor.Step+1, err)
	}
	a.samples += b.n
	a.asked++
	if a.unsettle++; a.unsettle >= unsettled && time.Since(a.settled) > stale {
		return a.settle()
	}
	return nil
}

// ask has the device make a step: as it was recorded for the slot, where batches
// are whole, since only then addresses and shapes are the same.
func (a *ahead) ask(b *batch) (err error) {
	var failed error
	work := func(t *tensor.Tape) { failed = a.compute(t, b) }
	a.steer(b.slot.memo.dials)
	switch {
	case a.recorder == nil || b.n < a.whole():
		err = tensor.Step(work)
	case !a.warm:
		a.warm = true
		err = a.recorder.Step(work)
	case b.slot.replay == nil:
		err = a.record(b.slot, work)
	default:
		err = b.slot.replay.Run()
	}
	return cmp.Or(err, failed)
}

// record records the slot's step and runs it. Where memory is short, some that
// the recorder had may have been given back: then, once, the step is made as it
// is, which takes it anew. A step that cannot be recorded is made as it is, too,
// and all others, unless recording was asked for.
func (a *ahead) record(s *slot, work func(t *tensor.Tape)) (err error) {
	s.replay, err = a.recorder.Record(work)
	switch {
	case err == nil:
		a.cold = false
		return s.replay.Run()
	case !a.cold:
		a.cold = true
	case a.Config.Graph == yes:
		return err
	default:
		if a.OnNote != nil {
			a.OnNote(fmt.Sprintf("steps are not recorded after all, which is slower: %v", err))
		}
		a.plan.Recorded, a.plan.Unrecorded = false, err.Error()
		defer func() { a.recorder = nil }()
	}
	return a.recorder.Step(work)
}

// compute is a step, as the device is asked for it.
func (a *ahead) compute(t *tensor.Tape, b *batch) error {
	t.SeedAt(a.Config.Seed, b.slot.memo.stream)
	a.lower(t)
	x, y := t.Watch(b.fields[0]), t.Watch(b.fields[1])
	if b.rows.Data != nil {
		rows := t.Watch(b.rows)
		x, y = a.Input.OfRows(x, rows), tensor.Take(y, rows)
	} else {
		x = a.Input.Of(x)
	}
	out, target := a.answer(x, y)
	loss := a.loss(out, target)
	tensor.AddTally(a.sums, b.n, loss, a.hits(out, target, loss))
	return a.update(loss)
}

func (a *ahead) settle() error {
	if a.unsettle == 0 {
		return nil
	}
	sums, err := totals(a.sums)
	if err != nil {
		return fmt.Errorf("epoch %d, by step %d: %w", a.Cursor.Epoch+1, a.asked, err)
	}
	if bad := sums[tensor.TallyBad]; bad != 0 {
		err := tensor.Try(func() { notFinite(sums[tensor.TallyLoss]) })
		return fmt.Errorf("epoch %d, step %d: %w", a.Cursor.Epoch+1, a.first+uint64(bad), err)
	}
	if err := a.stuck(); err != nil {
		return fmt.Errorf("epoch %d, by step %d: %w", a.Cursor.Epoch+1, a.asked, err)
	}
	sofar := &a.Cursor.Sofar
	sofar.Samples, sofar.Loss, sofar.Hits = a.samples, sums[tensor.TallyLoss], int(sums[tensor.TallyHits])
	a.settled, a.unsettle = time.Now(), 0
	return nil
}

// totals waits for a tally. What failed before is told as the device does.
func totals(sums storage.Array) ([]float64, error) {
	if err := sums.Data.Device().Sync(); err != nil {
		return nil, err
	}
	return storage.Read[float64](sums)
}
