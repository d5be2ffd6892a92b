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
	Graph        bool // steps are recorded on the device once, and replayed
	// Unrecorded says why they are not, where nobody has asked for that; empty on
	// the cpu.
	NoGraph string
}

// A Progress is how an epoch is going.
type Progress struct {
	Epoch, Epochs   int           // from 1
	Done, Samples   int           // of the epoch
	Metrics                       // of what this epoch has trained on so far
	Elapsed, Waited time.Duration // since training began or went on in this epoch; waiting for data, of it
	Trained         int           // samples since then
}

// An Epoch is how an epoch went.
type Epoch struct {
	Number, Epochs int // from 1
	Train          Metrics
	Val            *Metrics // nil if there was nothing to validate on
	Plan           Plan     // of the run; what did not work is no more in it
}

// Fit trains r from where it is to the end. When ctx is done it saves the run
// and returns ctx's error; Resume goes on from there as if nothing had happened.
// If it cannot be saved, why is all that is returned.
func (r *Run) Fit(ctx context.Context, data *Data, o Options) (err error) {
	runtime.LockOSThread() // the pool of arithmetic threads belongs to the thread that calls it
	defer runtime.UnlockOSThread()
	f, err := r.newTrainer(ctx, data, o)
	defer func() { err = cmp.Or(f.adviseMemory(err), f.close()) }()
	nn.Train(r.Model)
	for r.Position.Epoch < r.Config.Epochs && err == nil {
		err = f.epoch(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		if failed := f.save(); failed != nil {
			return failed
		}
	}
	return err
}

// A trainer holds the state of one call of Fit.
type trainer struct {
	*Run
	Options
	train             *dataset.Loader
	source, valSource batchSource // val is nil if there is nothing to validate on
	executor          executor
	params            iter.Seq2[string, *nn.Param]
	validator         *Predictor
	plan              Plan
}

func (r *Run) newTrainer(ctx context.Context, data *Data, o Options) (f *trainer, err error) {
	f = &trainer{Run: r, Options: o, params: r.params()}
	if err := r.Config.checkDevice(r.Device); err != nil {
		return f, err
	}
	r.setTF32()
	c := &r.Position
	if have := data.Train.Len(); c.Samples != 0 && c.Samples != have {
		return f, fmt.Errorf("resume: %d samples to train on, %d when the run began; the data has changed: %w", have, c.Samples, storage.ErrState)
	}
	loading := r.Config.loading()
	if c.Samples != 0 {
		loading.Shuffle, loading.Window = c.Shuffle, c.Window
	}
	if data.Val != nil {
		loading.Memory -= loading.Memory / validationShare
	}
	if err = f.openSource(ctx, data, loading); err != nil {
		return f, err
	}
	if f.executor, err = f.newExecutor(); err != nil {
		return f, err
	}
	f.plan.Plan = f.train.Plan()
	if o.OnPlan != nil {
		o.OnPlan(f.plan)
	}
	c.Samples, c.Shuffle, c.Window = data.Train.Len(), f.plan.Shuffle, f.plan.Window
	if f.validator, err = r.Predictor(); err != nil || data.Val == nil {
		return f, err
	}
	if f.valSource, err = f.validator.source(data.Val, r.Config.loading(), validationShare, r.checkLabels); err != nil {
		return f, fmt.Errorf("validate: %w", err)
	}
	return f, nil
}

// validating is how many times the memory that loading to validate takes is all
// that loading may take: both loaders keep what they hold.
const validationShare = 4

// roomier returns err, with what would have the run take less memory if there was
// not enough.
func (f *trainer) adviseMemory(err error) error {
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
func (f *trainer) newExecutor() (executor, error) {
	if _, streams := f.Device.(storage.AsyncDevice); !streams {
		steps := &synchronous{trainer: f}
		if f.scaler != nil {
			steps.hyper = storage.From(make([]float64, argsLen-1), argsLen-1)
		}
		return steps, nil
	}
	steps := &queued{trainer: f}
	steps.recorder, f.plan.NoGraph = f.recorder()
	if why := f.plan.NoGraph; why != "" && f.Config.Graph == yes {
		return nil, fmt.Errorf("graph: %s; leave it out: %w", why, storage.ErrState)
	}
	f.plan.Graph = steps.recorder != nil
	var err error
	steps.totals, err = storage.Make(f.Device, dtype.Float64, tensor.MetricCount)
	return steps, err
}

// recorder returns what records f's steps, or nil, and why not.
func (f *trainer) recorder() (*tensor.Recorder, string) {
	recorder, records := tensor.NewRecorder(f.Device)
	_, steers := f.Optimizer.(nn.Capturable)
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
func (f *trainer) fullBatch() int { return min(f.Config.Batch, f.train.Plan().Samples) }

// close gives back what f has on the device, once that is done with it.
func (f *trainer) close() error {
	if o, ok := f.Optimizer.(nn.Capturable); ok {
		o.SetStepArgs(nil)
	}
	var failed error
	for _, feed := range []batchSource{f.source, f.valSource} {
		if feed != nil {
			failed = cmp.Or(failed, feed.close())
		}
	}
	return failed
}

// evaluated is how many samples are read at a time where nothing is learned.
const evalBatch = 1024

// epoch trains what is left of an epoch, validates and saves.
func (f *trainer) epoch(ctx context.Context) error {
	start, clock := f.Position.Consumed, f.clock()
	if err := f.executor.beginEpoch(); err != nil {
		return err
	}
	for b, err := range f.source.epoch(ctx, f.Position.Epoch, start) {
		if err != nil {
			return err
		}
		if err := f.executor.step(b); err != nil {
			return err
		}
		f.Position.Step++
		f.Position.Consumed = b.next
		elapsed, waited, err := clock()
		if err != nil {
			return err
		}
		if f.OnBatch != nil {
			p := Progress{f.Position.Epoch + 1, f.Config.Epochs, f.Position.Consumed, f.Position.Samples, f.Position.Running, elapsed, waited, f.Position.Consumed - start}
			if err := f.OnBatch(p); err != nil {
				return errors.Join(err, f.executor.collect())
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := f.executor.collect(); err != nil {
		return err
	}
	if _, _, err := clock(); err != nil {
		return err
	}
	return f.endEpoch(ctx)
}

// clock starts to measure the epoch, or what is left of it. What it returns
// brings the cursor up to date.
func (f *trainer) clock() func() (elapsed, waited time.Duration, err error) {
	began, before := time.Now(), f.Position.Running
	return func() (elapsed, waited time.Duration, err error) {
		waited, err = f.source.waited()
		elapsed = time.Since(began)
		f.Position.Running.Seconds, f.Position.Running.Waited = before.Seconds+elapsed.Seconds(), before.Waited+waited.Seconds()
		return elapsed, waited, err
	}
}

// rateAt returns the learning rate where so many samples of the epoch are consumed.
func (f *trainer) rateAt(consumed int) float64 {
	epochs := float64(f.Position.Epoch) + float64(consumed)/float64(f.Position.Samples)
	steps := float64(f.Position.Samples) / float64(f.fullBatch())
	return f.baseRate * f.schedule.Factor(nn.Progress{Epoch: epochs, Epochs: float64(f.Config.Epochs), StepsPerEpoch: steps})
}

// answer returns what the model says of x, which Input has made its input, and y in
// the shape to compare it with.
func (r *Run) outputs(x, y *tensor.Tensor) (out, target *tensor.Tensor) {
	out = r.Model.Forward(x).ToFloat32()
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
	return labels.Reshape(labels.Shape[0], 1).Cast(dtype.Int64).Equal(tensor.Of(r.classIndices)).Cast(dtype.Float32)
}

// hits counts the samples that out names the right class of, as their loss may have; nil if
// there are no classes.
func (r *Run) correct(out, y, loss *tensor.Tensor) *tensor.Tensor {
	if !r.Classifies() {
		return nil
	}
	return tensor.CountCorrect(out, y, loss)
}

// finish validates, writes history and turns to the next epoch.
func (f *trainer) endEpoch(ctx context.Context) error {
	c := &f.Position
	e := Epoch{Number: c.Epoch + 1, Epochs: f.Config.Epochs, Train: c.Running, Plan: f.plan}
	if f.valSource != nil {
		val, err := f.validate(ctx)
		if err != nil {
			return err
		}
		e.Val = &val
	}
	f.addHistory(e)
	c.Epoch, c.Consumed, c.Running = c.Epoch+1, 0, Metrics{}
	if err := f.save(); err != nil {
		return err
	}
	if f.OnEpoch != nil {
		return f.OnEpoch(e)
	}
	return nil
}

// validate takes the model out of training for a while.
func (f *trainer) validate(ctx context.Context) (Metrics, error) {
	nn.Eval(f.Model)
	defer nn.Train(f.Model)
	return f.evaluate(ctx, f.validator, f.valSource)
}

// note adds e to the history.
func (f *trainer) addHistory(e Epoch) {
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
func (f *trainer) save() error {
	if f.executor != nil {
		if err := f.executor.collect(); err != nil {
			return err
		}
	}
	if f.File == "" {
		return nil
	}
	return Save(f.File, f.Run)
}
