package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"time"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/internal/panics"
	"github.com/h5dnn/h5dnn/internal/trace"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
)

// Options configure what happens around training. Their zero value trains and saves
// nothing.
type Options struct {
	// File is the run file; empty for none. The run is saved as SaveEvery says, at the
	// end and when it is interrupted. A copy of the run's state is written while
	// training goes on; an error in writing ends training after the next step.
	File string
	// Lock is the lock of File if the caller has it, such as since before the run was
	// resumed from File. Otherwise Fit locks File.
	Lock      *FileLock
	SaveEvery Interval // Config.SaveEvery if zero
	Callbacks []Callback
	Hooks     []Hook // called before those of Config
	// Group is this process among those that train the run together, each with its part of the shards; nil if
	// there is one. All of them train the same run on the same data. The first saves it; the others need no File.
	Group collective.Group
}

// A Plan says how a run is going to be trained.
type Plan struct {
	dataset.Plan              // of the samples to train on
	Resident     bool         // all samples are on the device, none are read again
	Graph        bool         // steps are captured in a CUDA graph once, and replayed
	NoGraph      string       // why not, unless it was asked for; empty on the CPU
	GraphChoice  *GraphChoice // how captured steps are replayed; nil until that is measured
	Fallbacks    []string     // what the device does without, such as a library, what it does instead, and why
	Training     *Training    // what callbacks can do with the training
}

// Progress is how far an epoch has come.
type Progress struct {
	Epoch, Epochs   int           // from 1
	Step            uint64        // steps of the run so far
	Done, Samples   int           // of the epoch
	Metrics                       // of this epoch so far
	Elapsed, Waited time.Duration // since training began or resumed in this epoch; the part spent waiting for data
	Trained         int           // samples since then
	Plan            *Plan         // of the run, without what turned out not to work

	t *trainer
}

// Values returns the metrics of the configuration of this epoch so far, where this process has them: on the CPU, without shards.
// It is for callbacks that look now and then.
func (p Progress) Values() (map[string]storage.Array, error) {
	if p.t == nil || p.t.r.Device != storage.CPU || len(p.t.r.metrics) != 1 || p.Metrics.Samples == 0 {
		return nil, nil
	}
	m := p.Metrics
	err := p.t.r.metrics[0].finish(&m)
	return m.Values, err
}

// An Epoch is the result of an epoch.
type Epoch struct {
	Number, Epochs int // from 1
	Train          Metrics
	Val            *Metrics // nil if there is no validation data
	Plan           Plan     // of the run, without what turned out not to work
	// Numbers are those that callbacks add. They go into the history under their names.
	Numbers map[string]float64
}

// loss returns the mean validation loss, or the mean training loss without validation data.
func (e Epoch) loss() float64 {
	if e.Val != nil {
		return e.Val.MeanLoss()
	}
	return e.Train.MeanLoss()
}

// Fit trains r from where it is to the end, or until a callback returns [Stop] or [Pause]. When ctx is done it saves the run and
// returns ctx's error; a run resumed from the file continues with the same
// results, bit for bit with the same number of threads and the same instruction set.
// If the run cannot be saved, that error is returned instead.
func (r *Run) Fit(ctx context.Context, data *Data, o Options) (err error) {
	return r.fit(ctx, data, o, nil)
}

// fit is Fit with the samples of a loader that the caller made, if it is not nil.
func (r *Run) fit(ctx context.Context, data *Data, o Options, loader *dataset.Loader) (err error) {
	runtime.LockOSThread() // the pool of arithmetic threads belongs to the thread that calls it
	defer runtime.UnlockOSThread()
	t := &trainer{r: r, options: o, params: r.params(), given: loader, callbacks: o.Callbacks}
	ctx, t.interruptWith = context.WithCancelCause(ctx)
	defer t.interruptWith(nil)
	defer panics.Recover(&err) // in what follows
	defer func() {
		err = cmp.Or(t.adviseMemory(err), t.close())
		t.shards.end(err, t.agreed.stop)
		for _, c := range t.callbacks {
			c.RunEnd(err)
		}
	}()
	defer panics.Recover(&err)
	err = t.open(ctx, data)
	nn.Train(r.Model)
	for r.Position.Epoch < r.Config.Epochs && err == nil {
		err = t.epoch(ctx)
	}
	end, interrupted := endOf(err), t.agreed.stop || ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if interrupted && t.shards.group != nil && !t.agreed.stop {
		return fmt.Errorf("%w: rank %d was told to stop before the first step", collective.ErrGroup, t.shards.rank())
	}
	if err == nil || end != nil {
		err, interrupted = t.endTraining(end), false
	}
	if err != nil && !interrupted {
		return err
	}
	return cmp.Or(t.finishSaving(), err)
}

// A trainer holds the state of one call of Fit.
type trainer struct {
	r             *Run
	options       Options
	given         *dataset.Loader // by the caller, or nil
	loader        *dataset.Loader // of the training data
	source        batchSource     // of the training data
	valSources    []batchSource   // of the validation data, for each shard of this process; empty without validation data
	binding       binding         // of the training data
	val           dataset.Dataset // validation data, or nil
	valBinding    binding         // of it
	ring          *ring           // of batches to train on; nil on the host
	executor      executor
	params        iter.Seq2[string, *nn.Parameter]
	validator     *Predictor
	plan          Plan
	saver         *saver          // nil if the run is not saved
	capturable    nn.Capturable   // the optimizer; nil if it is not
	callbacks     callbacks       // of the configuration, and then of the options
	stepCallbacks callbacks       // are told about steps
	changed       bool            // the run has changed since its last step
	validates     bool            // there are validation data
	batchSize     int             // of full batches
	hyper         []float64       // of the optimizer, for the next step
	shards        shardRange      // that this process computes
	agreed        agreement       // of all processes, at the last step
	interrupt     context.Context // whose end interrupts training
	interruptWith context.CancelCauseFunc
}

// An agreement is what processes do after a step, because one of them is told to.
type agreement struct{ stop, save, pause bool }

// validationShare divides the memory for loading: the validation data take one share of it,
// as both loaders keep their memory.
const validationShare = 4

// fullBatch returns the number of samples in every batch but an epoch's last.
func (t *trainer) fullBatch() int {
	if t.batchSize == 0 {
		t.batchSize = t.r.Config.BatchSize
		if !t.shards.divided() {
			t.batchSize = min(t.batchSize, t.loader.Plan().Samples)
		}
	}
	return t.batchSize
}

// epochSamples returns the number of samples in an epoch, of all shards.
func (t *trainer) epochSamples() int {
	n := t.loader.Dataset().Len()
	if t.loader.Options().DropLast {
		n -= n % t.fullBatch()
	}
	return n
}

// localStart returns the number of samples that this process has trained on in an epoch, after consumed of all.
func (t *trainer) localStart(consumed int) int {
	if consumed >= t.r.Position.Samples {
		return t.loader.Plan().Samples
	}
	return consumed / t.shards.size()
}

// close frees what t has on the device, once the device is done with it.
func (t *trainer) close() error {
	nn.SetShardSum(t.r.Model, nil)
	if t.capturable != nil {
		t.capturable.SetStepArgs(nil)
	}
	var failed error
	for _, source := range append(t.valSources, t.source) {
		if source != nil {
			failed = cmp.Or(failed, source.close())
		}
	}
	if t.saver != nil {
		failed = cmp.Or(failed, t.saver.close())
	}
	return failed
}

// evalBatch is the number of samples read at a time for validation and prediction.
const evalBatch = 1024

// epoch trains the rest of an epoch, validates and saves.
func (t *trainer) epoch(ctx context.Context) error {
	start, clock := t.r.Position.Consumed, t.clock()
	t.r.Position.Stopped, t.r.Position.Finished = "", false
	if start == 0 {
		for _, set := range t.r.metrics {
			set.reset()
		}
	}
	if err := t.executor.beginEpoch(); err != nil {
		return err
	}
	ctx, cancel := t.stepContext(ctx)
	defer cancel()
	for b, err := range t.batches(ctx) {
		if err != nil {
			return err
		}
		span := trace.Begin(trace.Computing, "step", int(t.r.Position.Step)+1)
		err := t.executor.step(b)
		if span.End(); err != nil {
			return err
		}
		t.r.Position.Step++
		t.r.Position.Consumed = b.next
		if err := t.afterStep(start, clock); err != nil {
			return err
		}
		if t.agreed.stop {
			return t.stopped()
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := t.executor.collect(); err != nil {
		return err
	}
	if _, _, err := clock(); err != nil {
		return err
	}
	if err := t.shareOptimizer(); err != nil {
		return err
	}
	return t.endEpoch(ctx)
}

// afterStep calls the callbacks and saves the run if that is due.
func (t *trainer) afterStep(start int, clock clock) error {
	elapsed, waited, err := clock()
	if err != nil {
		return err
	}
	if len(t.stepCallbacks) > 0 {
		if err := t.collectFor(t.r.Position.Step); err != nil {
			return err
		}
		at := &t.r.Position
		p := Progress{at.Epoch + 1, t.r.Config.Epochs, at.Step, at.Consumed, at.Samples, at.Running, elapsed, waited, at.Consumed - start, &t.plan, t}
		if err := t.stepCallbacks.each(func(c Callback) error { return c.StepEnd(p) }); err != nil {
			return errors.Join(err, t.executor.collect())
		}
	}
	if t.agreed != (agreement{}) {
		if err := t.shareState(); err != nil {
			return err
		}
	}
	if t.saver == nil {
		return nil
	}
	if err := t.saved(t.saver.poll()); err != nil {
		return err
	}
	if t.agreed.save || !t.shards.divided() && t.saver.due(t.r.Position.Step) {
		return t.save()
	}
	return nil
}

// collectFor waits for the metrics of all steps so far, if a callback looks at them after this one.
func (t *trainer) collectFor(step uint64) error {
	for _, c := range t.stepCallbacks {
		if l, ok := c.(interface{ looksAtMetrics(step uint64) bool }); ok && l.looksAtMetrics(step) {
			return t.executor.collect()
		}
	}
	return nil
}

// A clock returns the time since it started and the part spent waiting for data,
// and updates the position with both.
type clock func() (elapsed, waited time.Duration, err error)

// clock starts a clock for the epoch, or the rest of it.
func (t *trainer) clock() clock {
	began, before := time.Now(), t.r.Position.Running
	return func() (elapsed, waited time.Duration, err error) {
		waited, err = t.source.waited()
		elapsed = time.Since(began)
		running := &t.r.Position.Running
		running.Seconds, running.Waited = before.Seconds+elapsed.Seconds(), before.Waited+waited.Seconds()
		return elapsed, waited, err
	}
}

// rateAt returns the learning rate after a number of samples of the epoch.
func (t *trainer) rateAt(consumed int) float64 {
	epochs := float64(t.r.Position.Epoch) + float64(consumed)/float64(t.r.Position.Samples)
	steps := float64(t.r.Position.Samples) / float64(t.fullBatch())
	p := nn.Progress{Epoch: epochs, Epochs: float64(t.r.Config.Epochs), StepsPerEpoch: steps}
	rate := t.r.baseRate * t.r.schedule.Factor(p)
	for _, c := range t.callbacks {
		if c, ok := c.(RateSetter); ok {
			rate = c.Rate(p, rate)
		}
	}
	return rate
}

// endEpoch validates, writes history, turns to the next epoch and saves.
func (t *trainer) endEpoch(ctx context.Context) error {
	p := &t.r.Position
	e := Epoch{Number: p.Epoch + 1, Epochs: t.r.Config.Epochs, Train: p.Running, Plan: t.plan, Numbers: map[string]float64{}}
	if err := t.r.finishMetrics(t.shards, &e.Train, t.r.metrics); err != nil {
		return err
	}
	if len(t.valSources) > 0 {
		val, err := t.validate(ctx)
		if err != nil {
			return err
		}
		e.Val = &val
	}
	t.addHistory(e)
	if s, ok := t.r.schedule.(nn.EpochObserver); ok {
		s.EndEpoch(e.loss())
	}
	p.Epoch, p.Consumed, p.Running = p.Epoch+1, 0, Metrics{}
	end := t.callbacks.each(func(c Callback) error { return c.EpochEnd(e) })
	if end != nil && endOf(end) == nil {
		return end
	}
	for name, value := range e.Numbers {
		t.r.History.set(e.Number, name, value)
	}
	if t.saver != nil && (t.options.SaveEvery == (Interval{}) || slices.Contains(t.kept().steps, p.Step)) {
		if err := t.save(); err != nil {
			return err
		}
	}
	return end
}

// validate evaluates the model on the validation data.
func (t *trainer) validate(ctx context.Context) (m Metrics, err error) {
	defer trace.Begin(trace.Validating, "epoch", t.r.Position.Epoch+1).End()
	nn.Eval(t.r.Model)
	defer nn.Train(t.r.Model)
	if err := t.r.useAverages(true); err != nil {
		return m, err
	}
	defer func() { err = cmp.Or(err, t.r.useAverages(false)) }()
	return t.r.evaluateShards(ctx, t.validator, t.valSources, t.valBinding, t.shards, t.val)
}

// addHistory appends e to the history.
func (t *trainer) addHistory(e Epoch) {
	if t.r.History == nil {
		t.r.History = History{}
	}
	t.r.History.add("loss", e.Train.MeanLoss())
	t.r.History.add("seconds", e.Train.Seconds)
	t.r.History.add("lr", t.rateAt(0))
	if e.Val != nil {
		t.r.History.add("val_loss", e.Val.MeanLoss())
	}
	if t.r.HasAccuracy() {
		t.r.History.add("accuracy", e.Train.Accuracy())
		if e.Val != nil {
			t.r.History.add("val_accuracy", e.Val.Accuracy())
		}
	}
	t.r.History.addValues(e.Number, "", e.Train.Values)
	if e.Val != nil {
		t.r.History.addValues(e.Number, "val_", e.Val.Values)
	}
}

// note passes text to the callbacks.
func (t *trainer) note(text string) error {
	return t.callbacks.each(func(c Callback) error { return c.Note(text) })
}

// save starts to write the run as it is after the steps so far.
func (t *trainer) save() error {
	if t.executor != nil {
		if err := t.executor.collect(); err != nil {
			return err
		}
	}
	if err := t.saved(t.saver.wait()); err != nil {
		return err
	}
	if t.saver.kept = t.kept(); t.r.Position.Finished {
		t.saver.kept = kept{} // the save of the last step has the weights before
	}
	return t.saver.start(t.r)
}

// saved passes the end of a write on to the callbacks.
func (t *trainer) saved(ended bool, err error) error {
	if !ended || err != nil {
		return err
	}
	return t.callbacks.each(func(c Callback) error { return c.Saved(t.options.File) })
}

// finishSaving saves the run if something has changed since the last time, and waits
// until that is done.
func (t *trainer) finishSaving() error {
	if t.saver == nil {
		if t.executor != nil {
			return t.executor.collect()
		}
		return nil
	}
	if t.changed || !t.saver.upToDate(t.r) {
		if err := t.save(); err != nil {
			return err
		}
	}
	return t.saved(t.saver.wait())
}
