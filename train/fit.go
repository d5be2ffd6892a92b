package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"time"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// Options are what happens around training.
type Options struct {
	// File is where the run is saved after each epoch and when it is interrupted;
	// nowhere if empty.
	File string
	// OnBatch is called after each step, OnEpoch after each epoch, once the run is
	// saved. An error ends training and is returned; the run stays as it is.
	OnBatch func(Progress) error
	OnEpoch func(Epoch) error
	// OnPlan is called before the first step with what is going to be done, OnNote
	// with what then turns out not to work.
	OnPlan func(Plan)
	OnNote func(note string)
}

// A Plan is what a run is going to do.
type Plan struct {
	dataset.Plan      // of the samples to train on
	Resident     bool // they all stay on the device, none are read again
	Recorded     bool // steps are recorded on the device once, and replayed
	// Unrecorded says why they are not, where nobody has asked for that; empty on
	// the cpu.
	Unrecorded string
}

// A Progress is how an epoch is going.
type Progress struct {
	Epoch, Epochs   int           // from 1
	Done, Samples   int           // of the epoch
	Tally                         // of what this epoch has trained on so far
	Elapsed, Waited time.Duration // since training began or went on in this epoch; waiting for data, of it
	Ran             int           // samples since then
}

// An Epoch is how an epoch went.
type Epoch struct {
	Number, Epochs int // from 1
	Train          Tally
	Val            *Tally // nil if there was nothing to validate on
	Plan           Plan   // of the run; what did not work is no more in it
}

// Fit trains r from where it is to the end. When ctx is done it saves the run
// and returns ctx's error; Resume goes on from there as if nothing had happened.
// If it cannot be saved, why is all that is returned.
func (r *Run) Fit(ctx context.Context, data *Data, o Options) (err error) {
	runtime.LockOSThread() // the pool of arithmetic threads belongs to the thread that calls it
	defer runtime.UnlockOSThread()
	f, err := r.fitting(ctx, data, o)
	defer func() { err = cmp.Or(f.roomier(err), f.close()) }()
	nn.SetTraining(r.Model, true)
	for r.Cursor.Epoch < r.Config.Epochs && err == nil {
		err = f.epoch(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		if failed := f.save(); failed != nil {
			return failed
		}
	}
	return err
}

// A fitting is what Fit needs to go on.
type fitting struct {
	*Run
	Options
	train     *dataset.Loader
	feed, val feed // val is nil if there is nothing to validate on
	steps     stepper
	params    iter.Seq2[string, *nn.Param]
	blocks    *Predictor
	plan      Plan
}

func (r *Run) fitting(ctx context.Context, data *Data, o Options) (f *fitting, err error) {
	f = &fitting{Run: r, Options: o, params: r.params()}
	if err := r.Config.suits(r.Device); err != nil {
		return f, err
	}
	r.round()
	c := &r.Cursor
	if have := data.Train.Len(); c.Samples != 0 && c.Samples != have {
		return f, fmt.Errorf("resume: %d samples to train on, %d when the run began; the data has changed: %w", have, c.Samples, storage.ErrState)
	}
	loading := r.Config.loading()
	if c.Samples != 0 {
		loading.Shuffle, loading.Window = c.Shuffle, c.Window
	}
	if data.Val != nil {
		loading.Memory -= loading.Memory / validating
	}
	if err = f.open(ctx, data, loading); err != nil {
		return f, err
	}
	if f.steps, err = f.stepper(); err != nil {
		return f, err
	}
	f.plan.Plan = f.train.Plan()
	if o.OnPlan != nil {
		o.OnPlan(f.plan)
	}
	c.Samples, c.Shuffle, c.Window = data.Train.Len(), f.plan.Shuffle, f.plan.Window
	if f.blocks, err = r.Predictor(); err != nil || data.Val == nil {
		return f, err
	}
	if f.val, err = f.blocks.reading(data.Val, r.Config.loading(), validating, r.checkLabels); err != nil {
		return f, fmt.Errorf("validate: %w", err)
	}
	return f, nil
}

// validating is how many times the memory that loading to validate takes is all
// that loading may take: both loaders keep what they hold.
const validating = 4

// roomier returns err, with what would have the run take less memory if there was
// not enough.
func (f *fitting) roomier(err error) error {
	if errors.Is(err, dataset.ErrMemory) {
		return fmt.Errorf("%w; --memory allows more", err)
	}
	if !errors.Is(err, storage.ErrMemory) {
		return err
	}
	var ways []string
	if f.plan.Resident {
		ways = append(ways, "--resident no")
	}
	if f.Config.Batch > 1 {
		ways = append(ways, fmt.Sprintf("a --batch below %d", f.Config.Batch))
	}
	if precisions[f.Config.Precision] == dtype.Invalid {
		ways = append(ways, "--precision bf16")
	}
	if len(ways) == 0 {
		return err
	}
	return fmt.Errorf("%w; this run takes less with %s", err, strings.Join(ways, ", "))
}

// stepper returns what makes f's steps.
func (f *fitting) stepper() (stepper, error) {
	if _, streams := f.Device.(storage.Streaming); !streams {
		steps := &atOnce{fitting: f}
		if f.scaler != nil {
			steps.dials = storage.From(make([]float64, headed-1), headed-1)
		}
		return steps, nil
	}
	steps := &ahead{fitting: f}
	steps.recorder, f.plan.Unrecorded = f.recorder()
	if why := f.plan.Unrecorded; why != "" && f.Config.Graph == yes {
		return nil, fmt.Errorf("graph: %s; leave it out: %w", why, storage.ErrState)
	}
	f.plan.Recorded = steps.recorder != nil
	var err error
	steps.sums, err = storage.Make(f.Device, dtype.Float64, tensor.TallySize)
	return steps, err
}

// recorder returns what records f's steps, or nil, and why not.
func (f *fitting) recorder() (*tensor.Recorder, string) {
	recorder, records := tensor.NewRecorder(f.Device)
	_, steers := f.Optimizer.(nn.Steerable)
	switch {
	case f.Config.Graph == no:
		return nil, ""
	case !records:
		return nil, fmt.Sprintf("%v cannot record", f.Device)
	case !steers:
		return nil, fmt.Sprintf("%T takes its settings by value", f.Optimizer)
	}
	return recorder, ""
}

// whole is how many samples a batch has, but for an epoch's last.
func (f *fitting) whole() int { return min(f.Config.Batch, f.train.Plan().Samples) }

// close gives back what f has on the device, once that is done with it.
func (f *fitting) close() error {
	if o, ok := f.Optimizer.(nn.Steerable); ok {
		o.Steer(nil)
	}
	var failed error
	for _, feed := range []feed{f.feed, f.val} {
		if feed != nil {
			failed = cmp.Or(failed, feed.close())
		}
	}
	return failed
}

// evaluated is how many samples are read at a time where nothing is learned.
const evaluated = 1024

// epoch trains what is left of an epoch, validates and saves.
func (f *fitting) epoch(ctx context.Context) error {
	start, clock := f.Cursor.Consumed, f.clock()
	if err := f.steps.begin(); err != nil {
		return err
	}
	for b, err := range f.feed.epoch(ctx, f.Cursor.Epoch, start) {
		if err != nil {
			return err
		}
		if err := f.steps.step(b); err != nil {
			return err
		}
		f.Cursor.Step++
		f.Cursor.Consumed = b.next
		elapsed, waited, err := clock()
		if err != nil {
			return err
		}
		if f.OnBatch != nil {
			p := Progress{f.Cursor.Epoch + 1, f.Config.Epochs, f.Cursor.Consumed, f.Cursor.Samples, f.Cursor.Sofar, elapsed, waited, f.Cursor.Consumed - start}
			if err := f.OnBatch(p); err != nil {
				return errors.Join(err, f.steps.settle())
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := f.steps.settle(); err != nil {
		return err
	}
	if _, _, err := clock(); err != nil {
		return err
	}
	return f.finish(ctx)
}

// clock starts to measure the epoch, or what is left of it. What it returns
// brings the cursor up to date.
func (f *fitting) clock() func() (elapsed, waited time.Duration, err error) {
	began, before := time.Now(), f.Cursor.Sofar
	return func() (elapsed, waited time.Duration, err error) {
		waited, err = f.feed.waited()
		elapsed = time.Since(began)
		f.Cursor.Sofar.Seconds, f.Cursor.Sofar.Waited = before.Seconds+elapsed.Seconds(), before.Waited+waited.Seconds()
		return elapsed, waited, err
	}
}

// rateAt returns the learning rate where so many samples of the epoch are consumed.
func (f *fitting) rateAt(consumed int) float64 {
	epochs := float64(f.Cursor.Epoch) + float64(consumed)/float64(f.Cursor.Samples)
	return f.rate * f.schedule(epochs/float64(f.Config.Epochs))
}

// answer returns what the model says of x, which Input has made its input, and y in
// the shape to compare it with.
func (r *Run) answer(x, y *tensor.Tensor) (out, target *tensor.Tensor) {
	out = r.Model.Forward(x).Widened()
	switch target = y; {
	case r.Config.Data.OneHot:
		target = r.oneHot(target)
	case r.Classifies() && target.Rank() > 1 && target.Len() == target.Shape[0]:
		target = target.Reshape(target.Shape[0])
	case !r.Classifies() && target.Len() == out.Len():
		target = target.Reshape(out.Shape...)
	}
	return out, target
}

// oneHot returns a row for each label: zeros, and a one in the label's place.
func (r *Run) oneHot(labels *tensor.Tensor) *tensor.Tensor {
	return labels.Reshape(labels.Shape[0], 1).Cast(dtype.Int64).Equal(tensor.Of(r.places)).Cast(dtype.Float32)
}

// hits counts the samples that out names the right class of, as their loss may have; nil if
// there are no classes.
func (r *Run) hits(out, y, loss *tensor.Tensor) *tensor.Tensor {
	if !r.Classifies() {
		return nil
	}
	return tensor.Hits(out, y, loss)
}

// finish validates, writes history and turns to the next epoch.
func (f *fitting) finish(ctx context.Context) error {
	c := &f.Cursor
	e := Epoch{Number: c.Epoch + 1, Epochs: f.Config.Epochs, Train: c.Sofar, Plan: f.plan}
	if f.val != nil {
		val, err := f.validate(ctx)
		if err != nil {
			return err
		}
		e.Val = &val
	}
	f.note(e)
	c.Epoch, c.Consumed, c.Sofar = c.Epoch+1, 0, Tally{}
	if err := f.save(); err != nil {
		return err
	}
	if f.OnEpoch != nil {
		return f.OnEpoch(e)
	}
	return nil
}

// validate takes the model out of training for a while.
func (f *fitting) validate(ctx context.Context) (Tally, error) {
	nn.SetTraining(f.Model, false)
	defer nn.SetTraining(f.Model, true)
	return f.evaluate(ctx, f.blocks, f.val)
}

// note adds e to the history.
func (f *fitting) note(e Epoch) {
	if f.History == nil {
		f.History = History{}
	}
	f.History.add("loss", e.Train.MeanLoss())
	f.History.add("seconds", e.Train.Seconds)
	f.History.add("lr", f.rateAt(0))
	if e.Val != nil {
		f.History.add("val_loss", e.Val.MeanLoss())
	}
	if f.Classifies() {
		f.History.add("accuracy", e.Train.Accuracy())
		if e.Val != nil {
			f.History.add("val_accuracy", e.Val.Accuracy())
		}
	}
}

// save keeps the run as it is after the steps so far, if there were any.
func (f *fitting) save() error {
	if f.steps != nil {
		if err := f.steps.settle(); err != nil {
			return err
		}
	}
	if f.File == "" {
		return nil
	}
	return Save(f.File, f.Run)
}
