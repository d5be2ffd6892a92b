package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
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
	// OnPlan is called before the first step with what the loader is going to do.
	OnPlan func(dataset.Plan)
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
}

// Fit trains r from where it is to the end. When ctx is done it saves the run
// and returns ctx's error; Resume goes on from there as if nothing had happened.
// If it cannot be saved, why is all that is returned.
func (r *Run) Fit(ctx context.Context, data *Data, o Options) (err error) {
	runtime.LockOSThread() // the pool of arithmetic threads belongs to the thread that calls it
	defer runtime.UnlockOSThread()
	f, err := r.fitting(ctx, data, o)
	defer func() { err = errors.Join(err, f.close()) }()
	if err != nil {
		return err
	}
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
	train, val *dataset.Loader
	feed       feed
	steps      stepper
	params     iter.Seq2[string, *nn.Param]
	blocks     *Predictor
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
	plan := f.train.Plan()
	if o.OnPlan != nil {
		o.OnPlan(plan)
	}
	c.Samples, c.Shuffle, c.Window = data.Train.Len(), plan.Shuffle, plan.Window
	if f.blocks, err = r.Predictor(); err != nil || data.Val == nil {
		return f, err
	}
	f.val, err = r.reading(data.Val, validating)
	return f, err
}

// validating is how many times the memory that loading to validate takes is all
// that loading may take: both loaders keep what they hold.
const validating = 4

// reading returns a loader of d in order, for evaluation and prediction, in a
// share of the memory allowed.
func (r *Run) reading(d dataset.Dataset, share int64) (*dataset.Loader, error) {
	o := r.Config.loading()
	o.Memory /= share
	o.Shuffle, o.Window, o.Batch = dataset.None, 0, evaluated
	return dataset.NewLoader(d, o)
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
	recorder, records := tensor.NewRecorder(f.Device)
	if _, steers := f.Optimizer.(nn.Steerable); records && steers && f.Config.Graph != no {
		steps.recorder = recorder
	}
	var err error
	steps.sums, err = storage.Make(f.Device, dtype.Float64, tensor.TallySize)
	return steps, err
}

// close gives back what f has on the device, once that is done with it.
func (f *fitting) close() error {
	if o, ok := f.Optimizer.(nn.Steerable); ok {
		o.Steer(nil)
	}
	if f.feed == nil {
		return nil
	}
	return f.feed.close()
}

// evaluated is how many samples are read at a time where nothing is learned.
const evaluated = 1024

// epoch trains what is left of an epoch, validates and saves.
func (f *fitting) epoch(ctx context.Context) error {
	began, start := time.Now(), f.Cursor.Consumed
	seconds, idle := f.Cursor.Sofar.Seconds, f.Cursor.Sofar.Waited
	var waited time.Duration
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
		waited += b.waited
		f.Cursor.Sofar.Seconds = seconds + time.Since(began).Seconds()
		f.Cursor.Sofar.Waited = idle + waited.Seconds()
		if f.OnBatch != nil {
			p := Progress{f.Cursor.Epoch + 1, f.Config.Epochs, f.Cursor.Consumed, f.Cursor.Samples, f.Cursor.Sofar, time.Since(began), waited, f.Cursor.Consumed - start}
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
	f.Cursor.Sofar.Seconds = seconds + time.Since(began).Seconds()
	return f.finish(ctx)
}

// rateAt returns the learning rate where so many samples of the epoch are consumed.
func (f *fitting) rateAt(consumed int) float64 {
	epochs := float64(f.Cursor.Epoch) + float64(consumed)/float64(f.Cursor.Samples)
	return f.rate * f.schedule(epochs/float64(f.Config.Epochs))
}

// answer returns what the model says of x, and y in the shape to compare it with.
func (r *Run) answer(x, y *tensor.Tensor) (out, target *tensor.Tensor) {
	out = r.Model.Forward(r.Input.Of(x)).Widened()
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

// hits counts the samples that out names the right class of; nil if there are no classes.
func (r *Run) hits(out, y *tensor.Tensor) *tensor.Tensor {
	if !r.Classifies() {
		return nil
	}
	return tensor.Hits(out, y)
}

// finish validates, writes history and turns to the next epoch.
func (f *fitting) finish(ctx context.Context) error {
	c := &f.Cursor
	e := Epoch{Number: c.Epoch + 1, Epochs: f.Config.Epochs, Train: c.Sofar}
	if f.val != nil {
		val, err := f.evaluate(ctx, f.blocks, f.val)
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

func (f *fitting) save() error {
	if err := f.steps.settle(); err != nil || f.File == "" {
		return err
	}
	return Save(f.File, f.Run)
}
