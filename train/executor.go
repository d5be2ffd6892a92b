package train

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// An executor makes training steps.
type executor interface {
	beginEpoch() error // or the rest of one
	step(b *batch) error
	// collect waits for the steps so far and updates Position.Running.
	collect() error
}

// newExecutor returns the executor for t's device.
func (t *trainer) newExecutor() (executor, error) {
	_, streams := t.r.Device.(storage.AsyncDevice)
	switch {
	case t.shards.divided():
		return t.newSharded()
	case streams:
		return t.newQueued()
	}
	return t.newSynchronous(), nil
}

// nextArgs returns the arguments of the next step.
func (t *trainer) nextArgs() stepArgs {
	t.r.Optimizer.SetRate(t.rateAt(t.r.Position.Consumed))
	if t.capturable != nil {
		t.hyper = t.capturable.StepArgs(t.hyper[:0])
	}
	return stepArgs{hyper: t.hyper, random: t.randomStream()}
}

// hyperCount returns the number of hyperparameters that the optimizer reads from
// memory.
func (t *trainer) hyperCount() int {
	if t.capturable == nil {
		return 0
	}
	return len(t.capturable.StepArgs(nil))
}

// randomStream returns the number of the next step's random stream, which no other step has.
func (t *trainer) randomStream() uint64 { return tensor.RandomStream(t.r.Position.Step) }

// captureArgs has the optimizer read hyperparameters from device memory.
func (t *trainer) captureArgs(hyper storage.Array) {
	args := tensor.StepArgs{hyper}
	if t.r.scaler != nil {
		args = append(args, t.r.scaler.Array)
	}
	if t.capturable != nil {
		t.capturable.SetStepArgs(args)
	}
}

// batchInfo describes the next step's batch.
func (t *trainer) batchInfo(b *batch) BatchInfo {
	p, n := &t.r.Position, b.n
	if t.shards.divided() {
		n = min(t.fullBatch(), p.Samples-p.Consumed) // of all shards
	}
	return BatchInfo{
		Epoch: p.Epoch, Index: p.Consumed / t.fullBatch(), Samples: n, Size: t.fullBatch(),
		Consumed: p.Consumed, EpochSamples: p.Samples, Step: p.Step,
	}
}

// update computes the gradients of loss, calls the hooks and updates the parameters,
// unless a hook holds the update back.
func (t *trainer) update(info BatchInfo, c comparison) (updated bool, err error) {
	if len(t.r.hooks) == 0 {
		grads := tensor.Gradients(t.scaled(c.loss))
		if t.r.scaler != nil {
			t.r.scaler.CheckFinite(inOrder(t.params, grads)...)
		}
		err = t.r.Optimizer.Step(t.params, grads)
		updated = true
	} else {
		updated, err = t.updateWithHooks(info, c)
	}
	if err == nil {
		err = t.afterUpdate(c.loss.Tape(), updated)
	}
	return updated, err
}

// afterUpdate updates the loss scale and the averages after a step.
func (t *trainer) afterUpdate(tape *tensor.Tape, updated bool) error {
	if !updated {
		return nil
	}
	if t.r.scaler != nil {
		t.r.scaler.Update()
	}
	if t.r.ema != nil {
		return t.r.ema.Update(tape, t.params)
	}
	return nil
}

// scaled returns the loss times the loss scale, if there is one.
func (t *trainer) scaled(loss *tensor.Tensor) *tensor.Tensor {
	if t.r.scaler == nil {
		return loss
	}
	return t.r.scaler.Scale(loss)
}

// inOrder lists the gradients in the order of params.
func inOrder(params iter.Seq2[string, *nn.Parameter], grads tensor.Grads) (all []*tensor.Tensor) {
	for _, p := range params {
		if g := grads[p.Tensor]; g != nil {
			all = append(all, g)
		}
	}
	return all
}

// updateWithHooks is update, by way of the hooks. Gradients are checked for infinity
// and NaN before the first and after each: an average over replicas brings others'.
func (t *trainer) updateWithHooks(info BatchInfo, c comparison) (updated bool, err error) {
	s := &Step{BatchInfo: info, Parts: partsOf(c.losses)}
	if t.r.scaler != nil {
		s.LossScale = t.r.scaler.Factor(c.loss)
	}
	if len(s.Parts) > 1 && !slices.ContainsFunc(t.r.hooks, isAccumulate) {
		s.Parts = []LossPart{{value: c.loss}}
	}
	if err := t.lossGradients(s); err != nil {
		return false, err
	}
	return t.applyHooks(s)
}

// lossGradients sets the gradients of s, of each part of its loss.
func (t *trainer) lossGradients(s *Step) error {
	for i, part := range s.Parts {
		grads, err := t.gradients(s, i, t.scaled(part.value))
		if err != nil {
			return err
		}
		for name, p := range t.params {
			if g := grads[p.Tensor]; g != nil {
				s.Gradients = append(s.Gradients, Gradient{name, p, g, i})
			}
		}
	}
	return nil
}

// applyHooks calls the hooks and makes the update, unless one of them holds it back.
func (t *trainer) applyHooks(s *Step) (updated bool, err error) {
	t.checkFinite(s)
	for _, h := range t.r.hooks {
		if err := h.Gradients(s); err != nil {
			return false, fmt.Errorf("hook %T: %w", h, err)
		}
		t.checkFinite(s)
	}
	if s.hold {
		return false, nil
	}
	return true, t.r.Optimizer.Step(t.params, s.grads())
}

// gradients makes the backward pass of a part of the loss and tells hooks about each gradient.
func (t *trainer) gradients(s *Step, part int, loss *tensor.Tensor) (_ tensor.Grads, err error) {
	ready := t.readyHooks()
	if x, ok := t.executor.(*sharded); ok {
		ready = []ReadyHook{x}
	}
	if len(ready) == 0 && part == len(s.Parts)-1 {
		return tensor.Gradients(loss), nil
	}
	byTensor := map[*tensor.Tensor]Gradient{}
	for name, p := range t.params {
		byTensor[p.Tensor] = Gradient{Name: name, Param: p, Part: part}
	}
	tell := func(leaf, grad *tensor.Tensor) {
		g, ok := byTensor[leaf]
		if !ok || err != nil {
			return
		}
		g.Grad = grad
		for _, h := range ready {
			if err = h.GradientReady(s, g); err != nil {
				err = fmt.Errorf("hook %T: %s: %w", h, g.Name, err)
				return
			}
		}
	}
	if part == len(s.Parts)-1 {
		grads := tensor.GradientsReady(loss, tell)
		return grads, err
	}
	grads := t.gradientsOf(loss)
	for _, p := range t.params {
		if g := grads[p.Tensor]; g != nil {
			tell(p.Tensor, g)
		}
	}
	return grads, err
}

// readyHooks lists the hooks that are told about each gradient.
func (t *trainer) readyHooks() (ready []ReadyHook) {
	for _, h := range t.r.hooks {
		if r, ok := h.(ReadyHook); ok {
			ready = append(ready, r)
		}
	}
	return ready
}

// tellReady tells hooks about gradients that are complete all at once.
func (t *trainer) tellReady(s *Step) error {
	for _, h := range t.readyHooks() {
		for _, g := range s.Gradients {
			if err := h.GradientReady(s, g); err != nil {
				return fmt.Errorf("hook %T: %s: %w", h, g.Name, err)
			}
		}
	}
	return nil
}

// gradientsOf is tensor.Gradients where another backward pass follows.
func (t *trainer) gradientsOf(loss *tensor.Tensor) tensor.Grads {
	var params []*tensor.Tensor
	for _, p := range t.params {
		if p.RequiresGrad() {
			params = append(params, p.Tensor)
		}
	}
	grads := tensor.Grads{}
	for i, g := range tensor.Grad([]*tensor.Tensor{loss}, params, tensor.GradOptions{RetainGraph: true, AllowUnused: true}) {
		if g != nil {
			grads[params[i]] = g
		}
	}
	return grads
}

// checkFinite sets the loss scaler's found-inf flag.
func (t *trainer) checkFinite(s *Step) {
	if t.r.scaler != nil {
		t.r.scaler.CheckFinite(s.gradients()...)
	}
}

// lossScaleErr returns an error if the loss scale cannot fall any further.
func (t *trainer) lossScaleErr() error {
	if t.r.scaler == nil {
		return nil
	}
	return t.r.scaler.Err()
}

// nonFinite returns the error of a step whose loss is infinite or NaN, of the batch after that
// many samples of the epoch. It names the value of the batch that is missing, if there is one, else the samples and a
// parameter that is not finite.
func (t *trainer) nonFinite(loss float64, consumed int) error {
	for rows := range t.loader.Order(t.r.Position.Epoch, t.localStart(consumed)) {
		found, err := dataset.MissingIn(t.loader.Dataset(), rows)
		if err == nil {
			err = t.r.Config.Data.RefuseMissing(found, "in this batch")
		}
		if err != nil {
			return fmt.Errorf("the loss is %v: %w", loss, err)
		}
		break
	}
	at := (&Training{t}).batch(consumed)
	for name, p := range t.params {
		values, err := storage.Read[float64](p.Array())
		if err == nil && slices.ContainsFunc(values, func(x float64) bool { return !isFinite(x) }) {
			at += ", and the parameter " + name + " is not finite"
			break
		}
	}
	return fmt.Errorf("train: the loss is %v, and its batch has no missing value (%s); lower the learning rate, or look for large values: %w", loss, at, errNotFinite)
}

// errNotFinite is the kind of error of a loss that is not finite, though nothing is missing.
var errNotFinite = fmt.Errorf("%w", storage.ErrState)

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
