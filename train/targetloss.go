package train

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
)

// A TargetConfig says how an output is compared with its target.
type TargetConfig struct {
	Loss    any      `json:"loss,omitempty"`    // as nn.LossFromConfig reads it; the loss of the run if absent
	Weight  *float64 `json:"weight,omitempty"`  // of the loss in the sum that training minimizes; 1 if absent
	Metrics []any    `json:"metrics,omitempty"` // as nn.MetricFromConfig reads them; the metrics of the run if absent
}

// A TargetLoss says how an output is compared with its target, in Go.
type TargetLoss struct {
	Loss    nn.Loss // of all targets if nil
	Weight  float64 // of the loss in the sum that training minimizes; 1 if 0
	Metrics []any   // as nn.MetricFromConfig reads them; the metrics of all targets if nil
}

// checkTargets reports the first thing in c.Targets that cannot be.
func (c Config) checkTargets() error {
	names := c.Data.TargetNames()
	for _, name := range slices.Sorted(maps.Keys(c.Targets)) {
		if !slices.Contains(names, name) {
			return wrong(fmt.Sprintf("no such target; known are %v", names), "targets", name)
		}
		t := c.Targets[name]
		if w := t.Weight; w != nil && (!(*w >= 0) || math.IsInf(*w, 1)) {
			return wrong(fmt.Sprintf("cannot be %v; want a positive number", *w), "targets", name, "weight")
		}
		if _, err := c.targetLoss(name); err != nil {
			return err
		}
	}
	return nil
}

// targetLoss returns the loss of the named target. If its missing labels do not count, the loss ignores
// dataconfig.MissingLabel.
func (c Config) targetLoss(name string) (l TargetLoss, err error) {
	t, path := c.Targets[name], []any{"loss"}
	if t.Loss == nil {
		t.Loss = c.Loss
	} else {
		path = []any{"targets", name, "loss"}
	}
	if l.Loss, err = nn.LossFromConfig(t.Loss); err != nil {
		return l, config.At(err, path...)
	}
	if l.Loss, err = ignoringMissing(l.Loss, c.Data.Missing.ForTarget(name) == dataconfig.Ignore); err != nil {
		return l, config.At(err, path...)
	}
	l.Weight, l.Metrics = 1, t.Metrics
	if t.Weight != nil {
		l.Weight = *t.Weight
	}
	return l, nil
}

// setTargetLosses gives each target of r its loss.
func (r *Run) setTargetLosses() (err error) {
	r.losses = make([]TargetLoss, len(r.targets))
	for i, name := range r.targets {
		if r.losses[i], err = r.Config.targetLoss(name); err != nil {
			return err
		}
	}
	return nil
}

// setLosses gives each target of r its loss among those by name.
func (r *Run) setLosses(byName map[string]TargetLoss) error {
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if w := byName[name].Weight; !slices.Contains(r.targets, name) || !(w >= 0) || math.IsInf(w, 1) {
			return fmt.Errorf("train: loss of the target %q with the weight %v; want one of the targets %q, and a positive weight: %w", name, w, r.targets, storage.ErrState)
		}
	}
	r.losses = make([]TargetLoss, len(r.targets))
	for i, name := range r.targets {
		l := byName[name]
		l.Weight = cmp.Or(l.Weight, 1)
		if l.Loss == nil {
			l.Loss = r.loss
		}
		r.losses[i] = l
	}
	return nil
}

// lossOf returns the loss of a target.
func (r *Run) lossOf(target int) TargetLoss {
	if target < len(r.losses) {
		return r.losses[target]
	}
	return TargetLoss{Loss: r.loss, Weight: 1}
}

// Estimates reports whether outputs are parameters of a distribution of the first target, not values of it.
func (r *Run) Estimates() bool {
	_, is := r.lossOf(0).Loss.(nn.Estimator)
	return is
}

// classifies reports whether a target is class labels, or probabilities of classes.
func (r *Run) classifies(target int) bool { return nn.TakesLabels(r.lossOf(target).Loss) }
