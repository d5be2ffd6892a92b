package train

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// open prepares everything that training needs.
func (t *trainer) open(ctx context.Context, data *Data) (err error) {
	if err := t.r.CheckTrainable(); err != nil {
		return err
	}
	if err := t.openSaver(); err != nil {
		return err
	}
	if err := t.r.Config.checkDevice(t.r.Device); err != nil {
		return err
	}
	if err := t.r.CheckTargets(data); err != nil {
		return err
	}
	if err := t.r.beginShards(t.options.Group); err != nil {
		return err
	}
	if t.shards, err = shardsOf(t.r.Config, t.options.Group); err != nil {
		return err
	}
	if err := t.r.Config.checkShards(); err != nil {
		return err
	}
	t.r.setTF32()
	t.capturable, _ = t.r.Optimizer.(nn.Capturable)
	if err := t.setCallbacks(); err != nil {
		return err
	}
	if data, err = t.selected(data); err != nil {
		return err
	}
	t.validates = data.Val != nil
	if err := t.openTraining(ctx, data); err != nil {
		return err
	}
	if t.executor, err = t.newExecutor(); err != nil {
		return err
	}
	if err := t.begin(); err != nil {
		return err
	}
	return t.openValidation(data.Val)
}

// setCallbacks makes the callbacks and hooks of the configuration, and gives all of them the state that was loaded.
func (t *trainer) setCallbacks() error {
	configured, err := t.r.Config.newCallbacks()
	if err != nil {
		return err
	}
	t.callbacks = append(configured, t.options.Callbacks...)
	t.r.hooks = append(slices.Clip(t.options.Hooks), t.r.Config.configHooks(t.callbacks)...)
	onlyHooks := slices.DeleteFunc(slices.Clone(t.r.hooks), func(h Hook) bool { _, both := h.(Callback); return both })
	return cmp.Or(setStates(&t.r.hookStates, t.params, "hook", onlyHooks), setStates(&t.r.callbackStates, t.params, "callback", t.callbacks), t.openKept())
}

// openSaver prepares the saving of the run, if it is saved.
func (t *trainer) openSaver() (err error) {
	if t.options.File == "" || t.options.Group != nil && t.options.Group.Rank() > 0 {
		return nil
	}
	if t.options.SaveEvery == (Interval{}) {
		t.options.SaveEvery = t.r.Config.SaveEvery
	}
	t.saver, err = newSaver(t.options.File, t.options.Lock, t.options.SaveEvery, t.r.Position.Step, sizeOf(t.r.arrays()))
	return err
}

// openTraining opens the samples to train on.
func (t *trainer) openTraining(ctx context.Context, data *Data) (err error) {
	loading, err := t.trainingOptions(data)
	if err != nil {
		return err
	}
	var own []arrangement // of the targets as the data has them
	if t.binding, own, err = t.r.bindAugmented(data.Train, loading.Stage); err != nil {
		return err
	}
	t.r.targetShapes = shapesOf(own)
	if err := t.openSource(ctx, data, loading); err != nil {
		return err
	}
	return cmp.Or(t.checkFingerprint(data.Train), t.checkAlike())
}

// begin tells what is to be done, and sets the position that a resumed run compares.
func (t *trainer) begin() error {
	for _, c := range t.callbacks {
		if progress, _ := looksAt(c); progress {
			t.stepCallbacks = append(t.stepCallbacks, c)
		}
	}
	t.plan.Training = &Training{t}
	t.plan.Fallbacks = append(t.plan.Fallbacks, t.r.slowBF16()...)
	if t.plan.Plan = t.loader.Plan(); t.epochSamples() < 1 {
		return fmt.Errorf("train: %d samples to train on, none of them in a batch of %d: %w", t.loader.Dataset().Len(), t.r.Config.BatchSize, views.ErrShape)
	}
	end := t.callbacks.each(func(c Callback) error { return c.RunBegin(t.plan) })
	if end != nil && endOf(end) == nil {
		return end
	}
	if text := t.r.compute.differs(t.r.computeNow()); text != "" {
		if err := t.note(text); err != nil {
			return err
		}
	}
	p := &t.r.Position
	if p.Samples != 0 && (p.Shuffle != t.plan.Shuffle || p.Window != t.plan.Window) {
		return fmt.Errorf("resume: the loader shuffles in windows of %d chunks, and %d when the run began: %w", t.plan.Window, p.Window, storage.ErrState)
	}
	p.Samples, p.Shuffle, p.Window = t.epochSamples(), t.plan.Shuffle, t.plan.Window
	return cmp.Or(t.r.useAverages(false), t.r.beginAverages(), end)
}

// openValidation prepares predictions, and their comparison with the targets of val
// unless that is nil.
func (t *trainer) openValidation(val dataset.Dataset) (err error) {
	t.val = val
	if t.validator, err = t.r.predictor(false); err != nil || val == nil {
		return err
	}
	if t.valBinding, err = t.r.bindEvaluated(val); err != nil {
		return fmt.Errorf("validate: %w", err)
	}
	if t.valSources, err = t.r.shardSources(t.validator, val, t.valBinding, t.shards, validationShare); err != nil {
		return fmt.Errorf("validate: %w", err)
	}
	return nil
}

// bindTraining binds the fields of samples that have targets.
func (r *Run) bindTraining(fields []dataset.Field) (binding, error) {
	b, err := bind(r.Inputs, fields)
	if err == nil && len(b.targets) == 0 {
		err = fmt.Errorf("train: no targets among the fields %v: %w", fields, views.ErrShape)
	}
	if err == nil {
		err = r.CheckOutputs()
	}
	names := r.targets
	if err == nil && len(names) < 2 {
		names, err = orderTargets(r.Model, targetNames(fields))
	}
	if err == nil {
		b.targets, err = targetsByName(names, fields)
	}
	if err == nil {
		b.arrangements, err = r.arrangements(fields, b)
	}
	return b, err
}

// bindEvaluated binds the fields of what val_augment makes of the samples of d.
func (r *Run) bindEvaluated(d dataset.Dataset) (binding, error) {
	fields, _, err := r.Config.evaluated(d.Fields())
	if err != nil {
		return binding{}, err
	}
	return r.bindTraining(fields)
}

// trainingOptions returns how the samples to train on are loaded.
func (t *trainer) trainingOptions(data *Data) (o dataset.Options, err error) {
	if t.given != nil {
		return t.given.Options(), nil
	}
	stage, err := t.r.augmentation()
	if err != nil {
		return o, err
	}
	o = t.r.Config.loading()
	o.Stage = stage
	o.DropLast = t.r.Config.DropLast
	o.Rank, o.WorldSize, o.Shards = t.shards.rank(), t.shards.size(), t.shards.all
	o.BatchSize /= o.WorldSize
	o.Memory /= int64(o.WorldSize)
	if p := t.r.Position; p.Samples != 0 {
		o.Shuffle, o.Window = p.Shuffle, p.Window
	}
	if data.Val != nil {
		o.Memory -= o.Memory / validationShare
	}
	return o, nil
}

// checkSamples refuses to resume with another number of samples.
func (t *trainer) checkSamples() error {
	if have, want := t.epochSamples(), t.r.Position.Samples; want != 0 && have != want {
		return fmt.Errorf("resume: %d samples to train on, %d when the run began; the data has changed: %w", have, want, storage.ErrState)
	}
	return nil
}

// checkFingerprint refuses to resume with other samples than those the run began with.
func (t *trainer) checkFingerprint(d dataset.Dataset) error {
	if t.saver == nil && t.r.fingerprint == "" && t.shards.group == nil {
		return nil
	}
	have, err := dataset.Fingerprint(d)
	if err != nil {
		return err
	}
	if t.r.fingerprint != "" && have != t.r.fingerprint {
		return fmt.Errorf("resume: the samples to train on are not those that the run began with; the data has changed: %w", storage.ErrState)
	}
	t.r.fingerprint = have
	return nil
}
