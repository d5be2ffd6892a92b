package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"time"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
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
func (r *Run) Fit(ctx context.Context, data *Data, o Options) error {
	runtime.LockOSThread() // the pool of arithmetic threads belongs to the thread that calls it
	defer runtime.UnlockOSThread()
	f, err := r.fitting(data, o)
	if err != nil {
		return err
	}
	nn.SetTraining(r.Model, true)
	for r.Cursor.Epoch < r.Config.Epochs && err == nil {
		err = f.epoch(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return errors.Join(err, f.save())
	}
	return err
}

// A fitting is what Fit needs to go on.
type fitting struct {
	*Run
	Options
	train, val *dataset.Loader
	params     iter.Seq2[string, *nn.Param]
	blocks     *Predictor
}

func (r *Run) fitting(data *Data, o Options) (f *fitting, err error) {
	f = &fitting{Run: r, Options: o, params: r.params()}
	c := &r.Cursor
	if have := data.Train.Len(); c.Samples != 0 && c.Samples != have {
		return nil, fmt.Errorf("resume: %d samples to train on, %d when the run began; the data has changed: %w", have, c.Samples, storage.ErrState)
	}
	loading := r.Config.loading()
	if c.Samples != 0 {
		loading.Shuffle, loading.Window = c.Shuffle, c.Window
	}
	if data.Val != nil {
		loading.Memory -= loading.Memory / validating
	}
	if f.train, err = dataset.NewLoader(data.Train, loading); err != nil {
		return nil, err
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

// evaluated is how many samples are read at a time where nothing is learned.
const evaluated = 1024

// epoch trains what is left of an epoch, validates and saves.
func (f *fitting) epoch(ctx context.Context) error {
	began, seconds, start := time.Now(), f.Cursor.Sofar.Seconds, f.Cursor.Consumed
	var waited time.Duration
	for b, err := range f.train.Epoch(ctx, f.Cursor.Epoch, start) {
		if err != nil {
			return err
		}
		if err := f.step(b); err != nil {
			return err
		}
		waited += b.Waited
		f.Cursor.Sofar.Seconds = seconds + time.Since(began).Seconds()
		if f.OnBatch != nil {
			p := Progress{f.Cursor.Epoch + 1, f.Config.Epochs, f.Cursor.Consumed, f.Cursor.Samples, f.Cursor.Sofar, time.Since(began), waited, f.Cursor.Consumed - start}
			if err := f.OnBatch(p); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return f.finish(ctx)
}

// step makes one update.
func (f *fitting) step(b *dataset.Batch) error {
	var loss float64
	var hits int
	var failed error
	f.Optimizer.SetRate(f.rateAt(f.Cursor.Consumed))
	err := tensor.Step(func(t *tensor.Tape) {
		t.Seed(f.Config.Seed, f.Cursor.Step)
		out, y := f.forward(t, b.Fields[0], b.Fields[1])
		total := f.loss(out, y)
		loss, hits = total.Item(), f.hits(out, y)
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			tensor.Fail("train", storage.ErrState, "the loss is %v; lower the learning rate, or look for NaN in the data", loss)
		}
		failed = f.Optimizer.Step(f.params, tensor.Gradients(total))
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("epoch %d, step %d: %w", f.Cursor.Epoch+1, f.Cursor.Step+1, err)
	}
	f.Cursor.Step++
	f.Cursor.Consumed = b.Next
	f.Cursor.Sofar.add(len(b.Rows), loss, hits)
	return nil
}

// rateAt returns the learning rate where so many samples of the epoch are consumed.
func (f *fitting) rateAt(consumed int) float64 {
	epochs := float64(f.Cursor.Epoch) + float64(consumed)/float64(f.Cursor.Samples)
	return f.rate * f.schedule(epochs/float64(f.Config.Epochs))
}

// forward returns what the model says of x, and y in the shape to compare it with.
func (r *Run) forward(t *tensor.Tape, x, y storage.Array) (out, target *tensor.Tensor) {
	out = r.Model.Forward(r.Input.Of(r.watch(t, x)))
	target = r.watch(t, y)
	switch {
	case r.Config.Data.OneHot:
		target = oneHot(target, r.Config.Classes)
	case r.Classifies() && target.Rank() > 1 && target.Len() == target.Shape[0]:
		target = target.Reshape(target.Shape[0])
	case !r.Classifies() && target.Len() == out.Len():
		target = target.Reshape(out.Shape...)
	}
	return out, target
}

// oneHot returns a row for each label: zeros, and a one in the label's place.
func oneHot(labels *tensor.Tensor, classes int) *tensor.Tensor {
	n := labels.Shape[0]
	all := make([]int64, classes)
	for i := range all {
		all[i] = int64(i)
	}
	places, err := storage.From(all, 1, classes).To(labels.Data.Device())
	if err != nil {
		tensor.Fail("one hot", storage.ErrDevice, "%v", err)
	}
	rows := labels.Reshape(n, 1).Cast(dtype.Int64).Equal(tensor.Of(places)).Cast(dtype.Float32)
	if rows.Sum().Item() != float64(n) {
		tensor.Fail("one hot", views.ErrShape, "labels beyond 0 to %d; there are %d classes", classes-1, classes)
	}
	return rows
}

// watch brings a into the step, on the run's device.
func (r *Run) watch(t *tensor.Tape, a storage.Array) *tensor.Tensor {
	moved, err := a.To(r.Device)
	if err != nil {
		tensor.Fail("train", storage.ErrDevice, "%v", err)
	}
	return t.Watch(moved)
}

// hits counts the samples that out names the right class of.
func (r *Run) hits(out, y *tensor.Tensor) int {
	if !r.Classifies() {
		return 0
	}
	return int(tensor.Hits(out, y).Item())
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
	if f.File == "" {
		return nil
	}
	return Save(f.File, f.Run)
}
